import type { Texts } from '../texts.ts';

export const authorization: Texts<'authorization'> = {
  'connect.heading': '{mcpServer} quiere usar tu cuenta de {provider}',
  'connect.resource': 'El acceso es para',
  'connect.scopesUnnamed': '{provider} te mostrará qué se permite con esto antes de que aceptes.',
  'connect.accept': 'Continuar',
  'connect.reassurance': 'No se comparte nada hasta que aceptes en {provider}.',
  'connect.providerDenied': '{provider} indica que no has aceptado. Puedes volver a intentarlo o rechazar.',
  'connect.providerUnavailable': '{provider} no ha respondido. Espera un momento y vuelve a intentarlo.',
  'connect.providerRefused': '{provider} ha denegado la solicitud. Puedes volver a intentarlo o rechazar.',
  'connect.wrongAccount': 'Esa no es la cuenta de {provider} que se necesita aquí. Elige la correcta o rechaza.',
  'connect.startAgain': 'El último intento se interrumpió. Empieza de nuevo desde aquí.',
  'connect.fewerScopes':
    '{provider} ha concedido menos permisos de los que {mcpServer} necesita. Puedes volver a intentarlo y permitirlos todos, o rechazar.',
  'connect.missing': 'Todavía falta',
  'connect.scopesChanged': 'La solicitud de {mcpServer} cambió mientras esta página estaba abierta. Revísala de nuevo.',
  'connect.again.refused':
    '{provider} ya no acepta la vinculación que hiciste el {date}. Vuelve a vincular tu cuenta para continuar.',
  'connect.again.rejected':
    '{provider} ha denegado una petición de {mcpServer}, aunque vinculaste tu cuenta el {date}. Vuelve a vincularla para continuar.',
  'connect.again.expired':
    'La vinculación con {provider} que hiciste el {date} era por tiempo limitado. Vuelve a vincular tu cuenta para continuar.',
  'connect.again.more_scopes':
    'Vinculaste tu cuenta de {provider} el {date}. Ahora {mcpServer} necesita más de lo que aceptaste entonces.',

  'connect.continue': 'Ir a {host}',

  'risk.summary': 'En resumen',
  'risk.delete': 'Podría eliminar',
  'risk.change': 'Podría cambiar',
  'risk.other': 'Podría hacer esto',
  'risk.see': 'Podría ver',
  'risk.deletes': 'Eliminar: {count}',
  'risk.changes': 'Cambiar: {count}',
  'risk.others': 'Otros: {count}',
  'risk.sees': 'Ver: {count}',
  'risk.new': 'Nuevo en esta solicitud',
  'risk.known': 'Ya lo permitiste',
  'risk.more': '{count} más',

  'scope.count': { plural: 'count', one: '{count} permiso', other: '{count} permisos' },
  'scope.openid': 'Reconocer tu cuenta',
  'scope.profile': 'Ver tu nombre',
  'scope.email': 'Ver tu dirección de correo electrónico',
  'scope.offlineAccess': 'Mantener el acceso en tu ausencia',

  'leaving.heading': 'Vas a continuar en {provider}',
  'leaving.text': '{provider} te preguntará si {mcpServer} puede usar tu cuenta. Después volverás aquí.',
  'leaving.continue': 'Ir a {host}',
  'leaving.back': 'Volver',

  'device.heading': 'Introduce un código en {provider}',
  'device.text': '{provider} te pide un código corto antes de que {mcpServer} pueda usar tu cuenta.',
  'device.safety':
    'Continúa solo si lo has iniciado tú. No introduzcas nunca un código que te haya enviado otra persona.',
  'device.copy': 'Copia este código o anótalo.',
  'device.enter': 'Introdúcelo en {provider} y acepta allí.',
  'device.return': 'Cuando {provider} te indique que has terminado, vuelve aquí.',
  'device.back': 'Volver',
  'device.check': 'Ya he introducido el código',
  'device.notice.not_yet': '{provider} sigue esperando a que introduzcas el código y aceptes.',
  'device.notice.wait': '{provider} necesita un momento. Espera unos segundos y vuelve a intentarlo.',
  'device.endsSoon': 'El código caduca {relative} ({time}).',
  'device.ends': 'El código caduca el {time}.',

  'done.heading': 'Tu cuenta de {provider} está vinculada',
  'done.account': 'Cuenta',
  'done.scopes': '{mcpServer} ahora puede',
  'done.connections': 'Ver o desvincular tus cuentas en cualquier momento',
};
