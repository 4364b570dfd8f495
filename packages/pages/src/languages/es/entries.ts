import type { Texts } from '../texts.ts';

export const entries: Texts<'entries'> = {
  'fields.note': 'Los nombres de los campos son de {mcpServer}, no de {brand}.',
  'fields.optional': '(opcional)',
  'fields.example': 'Por ejemplo',
  'fields.choose': 'Elegir',
  'fields.noAnswer': 'Sin respuesta',
  'fields.offset': 'Zona horaria de {field}',
  'fields.offsetShort': 'Zona horaria',
  'fields.multilineSecret': 'Pégalo entero, con la primera y la última línea. Se muestra como puntos.',
  'fields.check': 'Revisar: {page}',
  'fields.invalid': 'Todavía no se ha enviado nada. Revisa los campos marcados.',
  'fields.lookAgain': 'Revisa de nuevo',
  'fields.secretsGone': 'Por tu seguridad, los campos ocultos están vacíos. Vuelve a rellenarlos.',
  'fields.termsChanged': 'No se ha enviado nada. La solicitud ha cambiado. Revísala de nuevo y decide después.',

  'hint.length': { plural: 'max', one: 'De {min} a {max} carácter.', other: 'De {min} a {max} caracteres.' },
  'hint.minLength': { plural: 'min', one: '{min} carácter como mínimo.', other: '{min} caracteres como mínimo.' },
  'hint.maxLength': { plural: 'max', one: '{max} carácter como máximo.', other: '{max} caracteres como máximo.' },
  'hint.range': 'De {min} a {max}.',
  'hint.minimum': '{min} o más.',
  'hint.maximum': '{max} o menos.',
  'hint.items': 'Elige de {min} a {max}.',
  'hint.exactItems': 'Elige {min}.',
  'hint.minItems': 'Elige {min} o más.',
  'hint.maxItems': 'Elige {max} como máximo.',

  'fault.missing': 'Este campo todavía está vacío. Rellénalo.',
  'fault.missingChoice': 'Elige una opción.',
  'fault.number': 'Esto no es un número. Debería ser como {example}.',
  'fault.ambiguous': 'Puede ser {whole} o {decimal}. Escribe uno de los dos números con esta forma.',
  'fault.integer': 'Esto no es un número entero. Usa solo cifras, por ejemplo {example}.',
  'fault.too_short': {
    plural: 'min',
    one: 'Es demasiado corto. Hace falta {min} carácter como mínimo.',
    other: 'Es demasiado corto. Hacen falta {min} caracteres como mínimo.',
  },
  'fault.too_long': {
    plural: 'max',
    one: 'Es demasiado largo. Se admite {max} carácter como máximo.',
    other: 'Es demasiado largo. Se admiten {max} caracteres como máximo.',
  },
  'fault.email': 'Esto no es una dirección de correo electrónico. Debería ser como {example}.',
  'fault.uri': 'Esto no es una dirección completa. Debería ser como {example}.',
  'fault.date': 'Esta fecha no existe.',
  'fault.date-time': 'Esta fecha y hora no existen.',
  'fault.minimum': 'Es demasiado bajo. El mínimo es {min}.',
  'fault.maximum': 'Es demasiado alto. El máximo es {max}.',
  'fault.not_an_option': 'Elige una opción de la lista.',
  'fault.too_few': 'Has elegido muy pocas opciones. Elige {min} o más.',
  'fault.too_many': 'Has elegido demasiadas opciones. Elige {max} como máximo.',
  'fault.pattern': 'Esto no parece correcto. Comprueba que esté completo y que no se haya copiado nada más.',
  'fault.otherForm': 'El formato no es correcto. Comprueba si faltan o sobran caracteres.',
  'fault.unchecked': 'No se ha podido comprobar en este momento. Espera un poco y vuelve a enviarlo, o rechaza.',
  'fault.other': 'Esto no se puede usar. Vuelve a introducirlo.',

  'credential.heading': '{mcpServer} te pide datos de acceso',
  'credential.once':
    '{brand} se los entrega una sola vez a {mcpServer}, y a nadie más: ni a la aplicación de la que vienes ni a su IA.',
  'credential.lasting':
    '{brand} los guarda bajo llave hasta que los elimines y se los entrega a {mcpServer} cuando los necesita. Nadie más los recibe: ni la aplicación de la que vienes ni su IA.',
  'credential.replaces':
    'Según {mcpServer}, los datos de acceso que introdujiste antes no se han aceptado. Los nuevos los sustituyen.',
  'credential.checked': '{brand} comprueba primero en {host} que sean válidos.',
  'credential.send': 'Enviar',
  'credential.save': 'Guardar',
  'credential.reassurance': 'Si lo rechazas, no se comparte nada.',
  'credential.safety': 'No introduzcas nunca la contraseña con la que inicias sesión aquí.',
  'credential.notice.rejected':
    '{host} no ha aceptado lo que has introducido y no se ha guardado nada. Revísalo y vuelve a introducirlo, o rechaza.',
  'credential.notice.rejectedUnnamed':
    'No se ha aceptado lo que has introducido y no se ha guardado nada. Revísalo y vuelve a introducirlo, o rechaza.',
  'credential.notice.unavailable':
    '{host} no ha respondido, así que no se ha podido comprobar lo que has introducido. No se ha guardado nada. Espera un momento y vuelve a introducirlo.',
  'credential.notice.unavailableUnnamed':
    'Ahora mismo no se ha podido comprobar lo que has introducido. No se ha guardado nada. Espera un momento y vuelve a introducirlo.',

  'credentialDone.headingOnce': 'Tus datos de acceso se han enviado',
  'credentialDone.headingLasting': 'Tus datos de acceso se han guardado',
  'credentialDone.asked': 'Solicitado',
  'credentialDone.once': '{mcpServer} los recibe una sola vez y puede continuar.',
  'credentialDone.lasting': '{mcpServer} puede continuar y volver a usarlos hasta que los elimines.',
  'credentialDone.manage': 'Ver o eliminar lo guardado en cualquier momento',

  'form.heading': '{mcpServer} te hace unas preguntas',
  'form.headingOne': '{mcpServer} te hace una pregunta',
  'form.questions': { plural: 'count', one: 'Pregunta', other: 'Preguntas' },
  'form.lead': 'Tu respuesta llega a {mcpServer}. No pasa por la aplicación de la que vienes.',
  'form.leadSecret':
    '{brand} entrega tu respuesta una sola vez a {mcpServer}, y a nadie más: ni a la aplicación de la que vienes ni a su IA.',
  'form.send': 'Enviar',
  'form.yes': 'Sí',
  'form.no': 'No',
  'form.reassurance': 'Si lo rechazas, no se comparte nada.',
  'form.safety': 'No introduzcas aquí contraseñas, claves ni números de tarjeta.',

  'formDone.heading': 'Has respondido',
  'formDone.text': '{mcpServer} puede continuar.',
};
