import type { Texts } from '../texts.ts';

export const approvals: Texts<'approvals'> = {
  'approval.signInAgain': 'Iniciar sesión de nuevo para aprobar',
  'approval.signInAgainWhy':
    'Ha pasado un tiempo desde que iniciaste sesión. Hazlo de nuevo antes de aprobar, para que sepamos que sigues siendo tú.',
  'approval.signInAgainConfirm': 'Iniciar sesión de nuevo para confirmar',
  'approval.signInAgainConfirmWhy':
    'Ha pasado un tiempo desde que iniciaste sesión. Hazlo de nuevo antes de confirmar, para que sepamos que sigues siendo tú.',
  'approval.notice.sign_in_again':
    'No se ha aprobado nada, porque iniciaste sesión hace demasiado tiempo. Inicia sesión de nuevo y decide después.',
  'approval.notice.terms_changed': 'No se ha aprobado nada. Revisa los detalles de nuevo y decide después.',

  'payment.heading': '{mcpServer} te pide que apruebes un pago de {amount}',
  'payment.ask': '{mcpServer} te pide que apruebes un pago',
  'payment.payeeBefore': 'Beneficiario',
  'payment.payeeNotVerified': 'Indicado por {mcpServer}. {brand} no ha comprobado este beneficiario.',
  'payment.approve': 'Aprobar {amount}',
  'payment.payee': 'Pagado a',
  'payment.amount': 'Importe',
  'payment.items': 'Qué pagas',
  'payment.item': 'Concepto',
  'payment.itemTotal': 'Precio',
  'payment.quantity': '{quantity} × {unit}',
  'payment.total': 'Total',
  'payment.reference': 'Referencia',
  'payment.testMode': 'Modo de prueba: no se cobra nada. No lo consideres un pago.',
  'payment.accept': 'Aprobar',
  'payment.acceptWithPasskey': 'Aprobar con llave de acceso',
  'payment.passkeyWhy':
    'A continuación usarás tu llave de acceso: una clave guardada en tu dispositivo, que desbloqueas con la huella, la cara o un PIN.',
  'payment.reassuranceProcessor': 'Después de aprobarlo, pagas en {processor}. Antes no se cobra nada.',
  'payment.reassuranceDirect':
    'Después de aprobarlo, {mcpServer} puede cobrarte este importe, una sola vez. Si lo rechazas, no se cobra nada.',
  'payment.notice.payment_not_finished':
    'El pago no se completó y no se ha cobrado nada. Puedes volver a intentarlo o rechazarlo.',
  'payment.notice.processor_unavailable':
    '{processor} no ha respondido y no se ha cobrado nada. Espera un momento y vuelve a intentarlo.',
  'payment.notice.processor_unavailableUnnamed':
    'El servicio de pago no ha respondido y no se ha cobrado nada. Espera un momento y vuelve a intentarlo.',
  'payment.notice.passkey_failed':
    'No se ha podido verificar la llave de acceso. No se ha aprobado nada. Puedes volver a intentarlo o rechazarlo.',

  'passkey.headingAssert': 'Aprueba {amount} con tu llave de acceso',
  'passkey.headingRegister': 'Añade una llave de acceso para aprobar {amount}',
  'passkey.textAssert':
    'Tu dispositivo te pedirá la huella, la cara o el PIN. Así se desbloquea tu llave de acceso, la clave que guarda para {brand}.',
  'passkey.textRegister':
    'Este pago necesita una llave de acceso: una clave guardada en tu dispositivo, que desbloqueas con la huella, la cara o un PIN.',
  'passkey.textRegisterNext': 'La añades una sola vez. Después apruebas el pago con ella.',
  'passkey.start': 'Usar llave de acceso',
  'passkey.add': 'Añadir una llave de acceso',
  'passkey.back': 'Volver',
  'passkey.reassuranceAssert': 'Al usar tu llave de acceso apruebas este pago.',
  'passkey.reassuranceRegister': 'Al añadir una llave de acceso todavía no apruebas nada.',
  'passkey.noScript':
    'Este paso necesita {technology}, porque solo así puede un navegador usar una llave de acceso. Actívalo y vuelve a cargar esta página, vuelve atrás o rechaza.',
  'passkey.waiting': 'Sigue los pasos que muestra tu dispositivo.',
  'passkey.sending': 'Listo. Un momento, por favor.',
  'passkey.cancelled': 'No se ha usado la llave de acceso. Puedes volver a intentarlo o rechazar.',
  'passkey.alreadyAdded':
    'Este dispositivo ya tiene una llave de acceso tuya. Vuelve atrás y aprueba con ella, o elige otro dispositivo.',
  'passkey.failed': 'No ha funcionado. Puedes volver a intentarlo, volver atrás o rechazar.',
  'passkey.unsupported':
    'Este navegador no puede usar llaves de acceso en esta página. Abre el enlace de tu aplicación en otro navegador o rechaza.',
  'passkey.notice.failed':
    'No se ha podido verificar la llave de acceso. No se ha aprobado nada. Puedes volver a intentarlo o rechazar.',
  'passkey.notice.not_added':
    'No se ha podido añadir la llave de acceso. No se ha aprobado nada. Puedes volver a intentarlo o rechazar.',

  'passkeySignIn.heading': 'Inicia sesión de nuevo para añadir una llave de acceso',
  'passkeySignIn.text':
    'Este pago necesita una llave de acceso y todavía no tienes ninguna. Para que nadie más pueda añadir una en tu nombre, inicia sesión de nuevo primero.',

  'passkeyWait.heading': 'Tu llave de acceso es demasiado reciente para este pago',
  'passkeyWait.from':
    'Has añadido tu llave de acceso hace poco. Podrás aprobar con ella pagos de este importe a partir del {time}.',
  'passkeyWait.why':
    'Así tienes tiempo de detectar una llave de acceso que haya añadido otra persona o un restablecimiento que no hayas pedido. Si ha ocurrido, avisa al administrador de {brand}.',

  'dailyLimit.heading': 'Has alcanzado tu límite de 24 horas',
  'dailyLimit.why':
    'El administrador de {brand} limita cuánto puedes aprobar para {mcpServer} en 24 horas. Este pago lo superaría. No se ha aprobado nada.',
  'dailyLimit.from': 'Podrás aprobarlo a partir del {time}, si el enlace sigue siendo válido entonces.',

  'charge.heading': 'Aprobado. Ahora paga {amount} en {processor}',
  'charge.ask': 'Aprobado. Ahora paga en {processor}',
  'charge.headingProcessing': '{processor} está procesando tu pago',
  'charge.text': '{processor} cobra el pago para {payee}. Después volverás aquí.',
  'charge.textProcessing': 'Puede tardar unos minutos. No tienes que volver a pagar.',
  'charge.stop': 'No pagar',
  'charge.continue': 'Ir a {processor}',
  'charge.tryAgain': 'Reintentar',
  'charge.check': 'Ya he pagado: comprobar de nuevo',
  'charge.checkProcessing': 'Comprobar de nuevo',
  'charge.reassurance': 'Pagas una sola vez, aunque abras esta página varias veces.',
  'charge.notice.processor_unavailable': '{processor} no ha respondido. Espera un momento y vuelve a intentarlo.',
  'charge.notice.not_paid_yet': '{processor} todavía no ha recibido el pago.',

  'receipt.headingPaid': 'Has pagado {amount}',
  'receipt.headingApproved': 'Has aprobado un pago de {amount}',
  'receipt.record': 'Esto deja constancia de tu aprobación.',
  'receipt.recordPaid': 'Esto deja constancia de tu aprobación y de tu pago.',
  'receipt.heading': 'Recibo',
  'receipt.number': 'Número de recibo',
  'receipt.approvedAt': 'Aprobado el',
  'receipt.how': 'Aprobado con',
  'receipt.method': { select: 'method', button: 'El botón de este sitio', passkey: 'Una llave de acceso' },
  'receipt.by': 'Aprobado por',
  'receipt.askedBy': 'Solicitado por',
  'receipt.status': 'Pago',
  'receipt.paid': 'Pagado',
  'receipt.paidAt': 'Pagado en {processor}',
  'receipt.collect': '{mcpServer} puede cobrártelo ahora, una sola vez',
  'receipt.paidBack': 'Reembolsado',
  'receipt.refund': 'Reembolso',
  'receipt.refundStatus': {
    select: 'status',
    pending: '{amount} en camino, solicitado el {time}',
    succeeded: '{amount} reembolsado, solicitado el {time}',
    failed: '{amount} fallido, solicitado el {time}',
  },
  'receipt.dispute': 'Reclamación ante tu banco',
  'receipt.disputeStatus': {
    select: 'status',
    open: 'Pendiente de decisión',
    won: 'Resuelta a favor del beneficiario',
    lost: 'Resuelta a tu favor',
  },
  'receipt.open': 'Recibo para imprimir o guardar',
  'receipt.signed': '{brand} ha firmado el archivo. Cualquiera puede comprobar que es auténtico y no se ha modificado.',
  'receipt.download': 'Descargar el archivo firmado',

  'confirmation.heading': '{mcpServer} te pide que confirmes una acción',
  'confirmation.headingCaution': '{mcpServer} te pide que confirmes una acción que requiere cuidado',
  'confirmation.headingDestructive': '{mcpServer} te pide que confirmes una acción que no se puede deshacer',
  'confirmation.acceptDestructive': 'Confirmar definitivamente',
  'confirmation.label': 'Lo que confirmas',
  'confirmation.stated': 'Según {mcpServer}.',
  'confirmation.accept': 'Confirmar',
  'confirmation.acceptAction': 'Confirmar: {action}',
  'confirmation.reassurance': '{mcpServer} solo realizará esta acción si la confirmas.',
  'confirmation.notice.sign_in_again':
    'No se ha confirmado nada, porque iniciaste sesión hace demasiado tiempo. Inicia sesión de nuevo y decide después.',
  'confirmation.notice.terms_changed': 'No se ha confirmado nada. Revisa los detalles de nuevo y decide después.',

  'sent.heading': 'Lo que se envía',
  'sent.hidden': 'Oculto',
  'sent.hiddenWhy':
    'Aquí se ocultan los valores con nombre de secreto, como una contraseña. Lo que confirmas los incluye.',
  'sent.unseenWhy': 'Los códigos como {code} representan caracteres que no verías.',
  'sent.values': { plural: 'count', one: '{count} valor', other: '{count} valores' },
  'sent.characters': { plural: 'count', one: '{count} carácter', other: '{count} caracteres' },

  'confirmed.heading': 'Has confirmado',
  'confirmed.label': 'Lo que has confirmado',
  'confirmed.at': 'Confirmado el',
};
