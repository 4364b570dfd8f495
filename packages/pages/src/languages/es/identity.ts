import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': 'Inicia sesión para continuar',
  'signIn.text': 'Una aplicación que usas tiene una pregunta para ti. Inicia sesión para que solo tú la veas.',
  'signIn.connections': 'Después podrás ver cuáles de tus cuentas están vinculadas y desvincularlas.',
  'signIn.continue': 'Ir a iniciar sesión',
  'signIn.choose': 'Elige la cuenta que usas aquí para tus aplicaciones.',
  'signIn.with': 'Iniciar sesión con {name}',

  'signInFailed.heading': 'No se ha podido iniciar sesión',
  'signInFailed.text':
    'El servicio de inicio de sesión no ha respondido o ha rechazado el inicio de sesión. Espera un momento y vuelve a intentarlo.',
  'signInFailed.retry': 'Reintentar',

  'signInAgain.title': 'Iniciar sesión de nuevo',
  'signInAgain.heading': 'Vuelve a iniciar sesión en {app}',
  'signInAgain.text':
    'Este paso requiere un inicio de sesión reciente. Vuelve a iniciar sesión en {app}, abre un enlace desde allí y regresa a esta página en menos de cinco minutos.',

  'signedOut.heading': 'Has cerrado sesión',
  'signedOut.text': 'Puedes cerrar esta ventana.',
  'signedOut.elsewhere': 'Es posible que tu sesión en {host} siga abierta.',
  'signedOut.there': 'Cerrar sesión también allí',

  'wrongPerson.heading': 'Esta solicitud es para otra cuenta',
  'wrongPerson.text':
    'Si tienes otra cuenta, inicia sesión con ella. Si otra persona te ha enviado este enlace, cierra esta ventana. No se ha compartido nada.',
  'wrongPerson.switchAccount': 'Usar otra cuenta',

  'wrongBrowser.heading': 'Esto se inició en otro navegador',
  'wrongBrowser.text': 'Para protegerte, se ha detenido aquí. No se ha vinculado nada.',
  'wrongBrowser.next':
    'Si lo iniciaste tú, vuelve a tu aplicación y empieza de nuevo. Si otra persona te ha enviado un enlace, cierra esta ventana.',

  'noRequest.heading': 'Ninguna solicitud corresponde a esta respuesta',
  'noRequest.text':
    'El servicio que te ha traído de vuelta no ha indicado a qué solicitud pertenece su respuesta, o la solicitud ha terminado. No se ha vinculado ni rechazado nada.',
  'noRequest.next': 'Abre de nuevo la solicitud para continuar o rechazarla.',
  'noRequest.nextInApp': 'Vuelve a tu aplicación y abre el enlace de nuevo.',
  'noRequest.open': 'Abrir la solicitud',
};
