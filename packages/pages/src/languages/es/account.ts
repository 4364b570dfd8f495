import type { Texts } from '../texts.ts';

export const account: Texts<'account'> = {
  'connection.users': 'Usada por',
  'connection.unused': 'Ninguna aplicación',

  'me.signOut': 'Cerrar sesión',
  'me.connections': 'Cuentas vinculadas',
  'me.noConnections': 'No tienes cuentas vinculadas. Si una aplicación necesita alguna, antes te pedirá permiso.',
  'me.lost': 'Hay que volver a vincularla',
  'me.lost.refused': '{provider} ya no acepta esta vinculación.',
  'me.lost.rejected': '{provider} ha denegado esta vinculación.',
  'me.lost.expired': 'Esta vinculación era por tiempo limitado.',
  'me.lostNext': 'Se te pedirá que vuelvas a vincular la cuenta cuando sea necesaria.',
  'me.scopes': 'Permisos',
  'me.scopesUnnamed': 'Los permisos que {provider} te mostró cuando aceptaste',
  'me.connectedAt': 'Vinculada el',
  'me.lastUse': 'Último uso',
  'me.neverUsed': 'Todavía no',
  'me.usedBy': 'por {mcpServer}',
  'me.usedFor': 'para {tool}, según {mcpServer}',
  'me.disconnect': 'Desvincular',

  'disconnect.heading': '¿Desvincular tu cuenta de {provider}?',
  'disconnect.consequences': 'Qué ocurrirá',
  'disconnect.access': {
    plural: 'count',
    one: '{mcpServers} ya no podrá usar esta cuenta.',
    other: '{mcpServers} ya no podrán usar esta cuenta.',
  },
  'disconnect.deleted': '{brand} eliminará de inmediato el acceso que guardaba para esto.',
  'disconnect.revoke':
    'Pediremos a {provider} que ponga fin al acceso. Si no responde, volveremos a intentarlo más tarde.',
  'disconnect.listed':
    'Puede que {provider} siga mostrando {brand} en su propia lista de aplicaciones vinculadas. Puedes quitarla allí.',
  'disconnect.unsupported':
    '{provider} no permite poner fin al acceso desde aquí. Para hacerlo también allí, quita {brand} en tu configuración de {provider}.',
  'disconnect.until':
    'Es posible que una aplicación que recibió acceso antes pueda usar tu cuenta de {provider} hasta el {time}.',
  'disconnect.untilUnknown':
    'Es posible que una aplicación que recibió acceso antes pueda seguir usando tu cuenta de {provider}. {provider} no indica durante cuánto tiempo.',
  'disconnect.shared':
    'Otras vinculaciones tuyas usan el mismo acceso a {provider}, así que allí no cambiará nada hasta que también las elimines.',
  'disconnect.again': 'Si una aplicación vuelve a necesitar la cuenta, antes te pedirá permiso.',
  'disconnect.keep': 'Mantener vinculada',
  'disconnect.confirm': 'Desvincular',

  'disconnected.heading': 'Tu cuenta de {provider} está desvinculada',
  'disconnected.revoked': '{provider} ha confirmado que el acceso también ha terminado allí.',
  'disconnected.refresh_token_revoked':
    '{provider} ha confirmado que el acceso no se puede renovar, pero no que el acceso actual haya terminado.',
  'disconnected.access_token_revoked':
    '{provider} ha confirmado que el acceso actual ha terminado, pero no que no se pueda renovar. {brand} ha eliminado lo necesario para renovarlo. Para mayor seguridad, quita {brand} en tu configuración de {provider}.',
  'disconnected.pending':
    '{provider} todavía no ha confirmado que el acceso haya terminado. Seguiremos pidiéndolo durante tres días; no tienes que hacer nada.',
  'disconnected.unsupported':
    '{provider} no permite poner fin al acceso desde aquí. Para hacerlo también allí, quita {brand} en tu configuración de {provider}.',
  'disconnected.shared':
    'Otras vinculaciones tuyas siguen usando el mismo acceso a {provider}, así que solo se ha eliminado aquí.',
  'disconnected.back': 'Volver a tus cuentas vinculadas',

  'me.credentials': 'Datos de acceso guardados',
  'me.fingerprint': 'Código de control',
  'me.fingerprintHint': 'Identifica lo que introdujiste, que nunca se muestra.',
  'me.savedAt': 'Guardados el',
  'me.savedAgainAt': 'Introducidos de nuevo el',
  'me.deleteCredential': 'Eliminar',
  'me.passkeys': 'Llaves de acceso',
  'me.passkeysText': 'Las usas para aprobar pagos de mayor importe.',
  'me.addedAt': 'Añadida el',
  'me.removePasskey': 'Quitar',
  'me.passkeyCountsFrom': 'Válida a partir del',
  'me.addPasskey': 'Añadir otra llave de acceso',

  'deleteCredential.heading': '¿Eliminar estos datos de acceso?',
  'deleteCredential.named': 'Nombre',
  'deleteCredential.access': {
    plural: 'count',
    one: '{mcpServers} ya no podrá usarlos.',
    other: '{mcpServers} ya no podrán usarlos.',
  },
  'deleteCredential.deleted': '{brand} los eliminará de inmediato.',
  'deleteCredential.stillValid':
    'Siguen siendo válidos en el servicio que los emitió. Para evitarlo, cámbialos o revócalos allí.',
  'deleteCredential.again': 'Si una aplicación vuelve a necesitarlos, antes te los pedirá.',
  'deleteCredential.keep': 'Conservarlos',
  'deleteCredential.confirm': 'Eliminar',

  'credentialDeleted.heading': 'Tus datos de acceso se han eliminado',

  'removePasskey.heading': '¿Quitar esta llave de acceso?',
  'removePasskey.name': 'Llave de acceso',
  'removePasskey.proof':
    'Para asegurarse de que eres tú, tu dispositivo te pedirá que uses una de tus llaves de acceso.',
  'removePasskey.useless': 'Ya no podrás aprobar nada con ella.',
  'removePasskey.last': 'Es la única que tienes. Antes del próximo pago de mayor importe, añadirás una nueva.',
  'removePasskey.device':
    'Seguirá en tu dispositivo hasta que la elimines allí, en los ajustes de contraseñas y llaves de acceso.',
  'removePasskey.keep': 'Conservarla',
  'removePasskey.confirm': 'Quitar',

  'passkeyRemoved.heading': 'Se ha quitado la llave de acceso',

  'addPasskey.heading': 'Añadir otra llave de acceso',
  'addPasskey.proof':
    'Para asegurarse de que eres tú, tu dispositivo te pedirá primero que uses una llave de acceso que ya tengas.',
  'addPasskey.next': 'Después añadirás la nueva, en este dispositivo o en otro.',
  'addPasskey.permitted': 'Has usado tu llave de acceso. Ahora añade la nueva.',
  'addPasskey.where': 'Tu dispositivo te ofrecerá guardarla en él, en otro dispositivo o en una llave de seguridad.',
  'addPasskey.keep': 'Volver',

  'passkeyChange.noScript':
    'Este paso necesita {technology}, porque solo así puede un navegador usar una llave de acceso. Actívalo y vuelve a cargar esta página, o vuelve atrás.',
  'passkeyChange.cancelled':
    'No se ha usado la llave de acceso y no ha cambiado nada. Puedes volver a intentarlo o volver atrás.',
  'passkeyChange.alreadyAdded':
    'Este dispositivo ya tiene una llave de acceso tuya. Elige otro dispositivo o vuelve atrás.',
  'passkeyChange.failed': 'No ha funcionado y no ha cambiado nada. Puedes volver a intentarlo o volver atrás.',
  'passkeyChange.unsupported':
    'Este navegador no puede usar llaves de acceso en esta página. Abre la página en otro navegador o vuelve atrás.',
  'passkeyChange.notice.failed':
    'No se ha podido verificar la llave de acceso y no ha cambiado nada. Puedes volver a intentarlo o volver atrás.',
  'passkeyChange.notice.not_added':
    'No se ha podido añadir la llave de acceso. Puedes volver a intentarlo o volver atrás.',
  'passkeyChange.lost':
    '¿Has perdido todas tus llaves de acceso? Pide al administrador de {brand} que las restablezca.',
  'mute.link': 'Silenciar o denunciar',
  'mute.heading': 'Solicitudes de {mcpServer}',
  'mute.text':
    'Si silencias {mcpServer}, la aplicación ya no podrá pedirte nada. Sus solicitudes pendientes se rechazarán.',
  'mute.connections': 'Las cuentas que has vinculado siguen vinculadas hasta que las desvincules.',
  'mute.confirm': 'Silenciar',
  'mute.muted': 'Has silenciado {mcpServer}. La aplicación no puede pedirte nada.',
  'mute.undo': 'Volver a permitir solicitudes',
  'mute.list': 'Aplicaciones silenciadas',
  'report.heading': 'Denunciar ante {brand}',
  'report.text': 'El equipo de {brand} verá el motivo. La aplicación no recibirá ningún aviso.',
  'report.reason': 'Motivo',
  'report.not_started': 'Yo no inicié esto',
  'report.too_often': 'Envía demasiadas solicitudes',
  'report.too_much': 'Pide más de lo que necesita',
  'report.pretends': 'Se hace pasar por otra entidad',
  'report.send': 'Denunciar',
  'report.done': 'Gracias. Tu denuncia se ha registrado.',
};
