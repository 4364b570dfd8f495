import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': 'Tu respuesta está en camino',
  'working.text': 'Tardará unos segundos. No tienes que volver a responder.',
  'working.reload': 'Comprobar de nuevo',

  'declined.heading': 'Has rechazado la solicitud',
  'declined.text': 'No se ha compartido nada con {mcpServer}.',

  'expired.heading': 'Esta solicitud ha caducado',
  'expired.text':
    'Solo estaba abierta por un tiempo limitado. Si todavía la necesitas, vuelve a la aplicación desde la que llegaste y empieza de nuevo.',

  'cancelled.heading': 'Esta solicitud se ha retirado',
  'cancelled.text': '{mcpServer} ya no necesita una respuesta. Puedes cerrar esta ventana.',

  'failed.heading': 'No se ha podido completar esta solicitud',
  'failed.text':
    'Ha surgido un problema por el camino. Vuelve a la aplicación desde la que llegaste y empieza de nuevo.',

  'notFound.heading': 'Aquí no hay nada',
  'notFound.text':
    'Puede que el enlace esté incompleto o que ya no sea válido. Vuelve a la aplicación que te lo dio y pide uno nuevo.',

  'error.badRequest.heading': 'No se ha podido abrir esta página',
  'error.badRequest.text':
    'Falta una parte de la dirección o está dañada. Vuelve a abrir el enlace desde tu aplicación.',
  'error.forbidden.heading': 'Este paso se ha detenido',
  'error.forbidden.text':
    'No hemos podido comprobar que viniera de ti. Vuelve a abrir el enlace desde tu aplicación y usa los botones de la página.',
  'error.tooManyRequests.heading': 'Demasiados intentos en poco tiempo',
  'error.tooManyRequests.text': 'Espera un minuto y vuelve a abrir el enlace desde tu aplicación.',
  'error.unavailable.heading': 'El servicio no está disponible en este momento',
  'error.unavailable.text': 'Espera unos minutos y vuelve a abrir el enlace desde tu aplicación.',
  'error.internal.heading': 'Algo ha salido mal',
  'error.internal.text': 'El error es nuestro. Vuelve a abrir el enlace desde tu aplicación.',
  'error.requestId': 'Si pides ayuda, indica este número',
};
