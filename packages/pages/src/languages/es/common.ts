import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': 'Ayuda',
  'layout.privacy': 'Privacidad',
  'layout.terms': 'Condiciones de uso',
  'layout.language': 'Idioma:',
  'layout.passkeysChanged':
    'Tus llaves de acceso cambiaron el {time}: se añadió o se quitó una. Si no fuiste tú, avisa a {brand} ahora mismo.',
  'layout.seePasskeys': 'Ver tus llaves de acceso',

  'link.open': 'Abrir {host}',
  'link.newTab': '(en una pestaña nueva)',

  'asker.label': 'Quién lo solicita',

  'facts.destination': 'Continuarás en',
  'facts.person': 'Has iniciado sesión como',
  'facts.personHost': 'con {host}',

  'head.claimBoth': 'indica que se inició en «{mcpClient}», para «{tool}»',
  'head.claimClient': 'indica que se inició en «{mcpClient}»',
  'head.claimTool': 'indica que es para «{tool}»',
  'head.step': 'Paso {step} de {steps}',

  'match.text': 'Si tu aplicación muestra un código, tiene que ser este.',
  'match.other': '¿Otro código? Rechaza.',

  'words.of': 'Palabras de {mcpServer}, no de {brand}',

  'person.switch': 'Cambiar',
  'person.switchWhat': 'de cuenta',

  'decision.label': 'Tu decisión',
  'decision.decline': 'Rechazar',
  'decision.endsSoon': 'Esta solicitud caduca {relative} ({time}).',
  'decision.ends': 'Esta solicitud caduca el {time}.',

  'next.close': 'Cierra esta pestaña y vuelve a la aplicación desde la que llegaste.',
  'next.closeNamed':
    'Cierra esta pestaña y vuelve a la aplicación desde la que llegaste (dice llamarse «{mcpClient}»).',
  'next.returning': 'Volverás a {host} en tres segundos.',
  'next.stay': 'Quedarme aquí',
  'next.return': 'Volver a {mcpServer}',

  'fault.operator':
    'Esto no funcionará hasta que el administrador de {brand} haga un cambio. Indícale este número: {reference}',

  'live.show': 'Mostrar',
  'live.hide': 'Ocultar',
  'live.copy': 'Copiar',
  'live.copied': 'Copiado',
  'live.ended': 'Esta solicitud ha terminado.',
  'live.see': 'Ver el resultado',
  'live.timeUp': 'Se ha acabado el tiempo.',
};
