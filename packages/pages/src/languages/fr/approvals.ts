import type { Texts } from '../texts.ts';

export const approvals: Texts<'approvals'> = {
  'approval.signInAgain': 'Se reconnecter pour approuver',
  'approval.signInAgainWhy':
    'Vous vous êtes connecté il y a un certain temps. Veuillez vous reconnecter avant d’approuver, afin que nous sachions que c’est toujours vous.',
  'approval.signInAgainConfirm': 'Se reconnecter pour confirmer',
  'approval.signInAgainConfirmWhy':
    'Vous vous êtes connecté il y a un certain temps. Veuillez vous reconnecter avant de confirmer, afin que nous sachions que c’est toujours vous.',
  'approval.notice.sign_in_again':
    'Rien n’a été approuvé, car votre connexion est trop ancienne. Reconnectez-vous, puis décidez.',
  'approval.notice.terms_changed': 'Rien n’a été approuvé. Veuillez vérifier de nouveau les détails, puis décidez.',

  'payment.heading': '{mcpServer} vous demande d’approuver un paiement de {amount}',
  'payment.ask': '{mcpServer} vous demande d’approuver un paiement',
  'payment.payeeBefore': 'Bénéficiaire',
  'payment.payeeNotVerified': 'Indiqué par {mcpServer}. {brand} n’a pas vérifié ce bénéficiaire.',
  'payment.approve': 'Approuver {amount}',
  'payment.payee': 'Payé à',
  'payment.amount': 'Montant',
  'payment.items': 'Ce que vous payez',
  'payment.item': 'Article',
  'payment.itemTotal': 'Prix',
  'payment.quantity': '{quantity} × {unit}',
  'payment.total': 'Total',
  'payment.reference': 'Référence',
  'payment.testMode': 'Mode test\u00a0: aucun montant n’est débité. Ne considérez pas ceci comme un paiement.',
  'payment.accept': 'Approuver',
  'payment.acceptWithPasskey': 'Approuver avec une clé d’accès',
  'payment.passkeyWhy':
    'Vient ensuite votre clé d’accès\u00a0: une clé conservée sur votre appareil, que vous déverrouillez par empreinte digitale, visage ou code.',
  'payment.reassuranceProcessor': 'Après votre approbation, vous payez sur {processor}. Rien n’est débité avant.',
  'payment.reassuranceDirect':
    'Après votre approbation, {mcpServer} peut prélever ce montant, une seule fois. Rien n’est débité si vous refusez.',
  'payment.notice.payment_not_finished':
    'Le paiement n’a pas été terminé et rien n’a été débité. Vous pouvez réessayer ou refuser.',
  'payment.notice.processor_unavailable':
    '{processor} n’a pas répondu et rien n’a été débité. Patientez un instant, puis réessayez.',
  'payment.notice.processor_unavailableUnnamed':
    'Le service de paiement n’a pas répondu et rien n’a été débité. Patientez un instant, puis réessayez.',
  'payment.notice.passkey_failed':
    'La clé d’accès n’a pas pu être vérifiée. Rien n’a été approuvé. Vous pouvez réessayer ou refuser.',

  'passkey.headingAssert': 'Approuvez {amount} avec votre clé d’accès',
  'passkey.headingRegister': 'Ajoutez une clé d’accès pour approuver {amount}',
  'passkey.textAssert':
    'Votre appareil vous demande votre empreinte digitale, votre visage ou votre code. Cela déverrouille votre clé d’accès, conservée sur l’appareil pour {brand}.',
  'passkey.textRegister':
    'Ce paiement nécessite une clé d’accès\u00a0: une clé conservée sur votre appareil, que vous déverrouillez par empreinte digitale, visage ou code.',
  'passkey.textRegisterNext': 'Vous l’ajoutez une seule fois. Vous approuvez ensuite le paiement avec elle.',
  'passkey.start': 'Utiliser la clé d’accès',
  'passkey.add': 'Ajouter une clé d’accès',
  'passkey.back': 'Retour',
  'passkey.reassuranceAssert': 'En utilisant votre clé d’accès, vous approuvez ce paiement.',
  'passkey.reassuranceRegister': 'En ajoutant une clé d’accès, vous n’approuvez encore rien.',
  'passkey.noScript':
    'Cette étape nécessite {technology}, seul moyen pour un navigateur d’utiliser une clé d’accès. Activez-le et rechargez cette page, revenez en arrière ou refusez.',
  'passkey.waiting': 'Suivez les étapes indiquées par votre appareil.',
  'passkey.sending': 'C’est fait. Un instant, s’il vous plaît.',
  'passkey.cancelled': 'La clé d’accès n’a pas été utilisée. Vous pouvez réessayer ou refuser.',
  'passkey.alreadyAdded':
    'Cet appareil contient déjà une clé d’accès pour vous. Revenez en arrière et approuvez avec elle, ou choisissez un autre appareil.',
  'passkey.failed': 'L’opération n’a pas abouti. Vous pouvez réessayer, revenir en arrière ou refuser.',
  'passkey.unsupported':
    'Ce navigateur ne peut pas utiliser de clé d’accès sur cette page. Ouvrez le lien de votre application dans un autre navigateur ou refusez.',
  'passkey.notice.failed':
    'La clé d’accès n’a pas pu être vérifiée. Rien n’a été approuvé. Vous pouvez réessayer ou refuser.',
  'passkey.notice.not_added':
    'La clé d’accès n’a pas pu être ajoutée. Rien n’a été approuvé. Vous pouvez réessayer ou refuser.',

  'passkeySignIn.heading': 'Reconnectez-vous pour ajouter une clé d’accès',
  'passkeySignIn.text':
    'Ce paiement nécessite une clé d’accès et vous n’en avez pas encore. Pour que personne d’autre n’en ajoute une en votre nom, reconnectez-vous d’abord.',

  'passkeyWait.heading': 'Votre clé d’accès est trop récente pour ce paiement',
  'passkeyWait.from':
    'Vous avez ajouté votre clé d’accès il y a peu de temps. Vous pourrez approuver des paiements de ce montant avec elle à partir du {time}.',
  'passkeyWait.why':
    'Cela vous laisse le temps de remarquer une clé d’accès ajoutée par quelqu’un d’autre ou une réinitialisation que vous n’avez pas demandée. Le cas échéant, prévenez l’exploitant de {brand}.',

  'dailyLimit.heading': 'Vous avez atteint votre limite pour 24 heures',
  'dailyLimit.why':
    'L’exploitant de {brand} limite le montant que vous pouvez approuver pour {mcpServer} en 24 heures. Ce paiement dépasserait cette limite. Rien n’a été approuvé.',
  'dailyLimit.from': 'Vous pourrez l’approuver à partir du {time}, si le lien est encore valable à ce moment-là.',

  'charge.heading': 'C’est approuvé. Payez maintenant {amount} sur {processor}',
  'charge.ask': 'C’est approuvé. Payez maintenant sur {processor}',
  'charge.headingProcessing': '{processor} traite votre paiement',
  'charge.text': '{processor} encaisse le paiement pour {payee}. Vous reviendrez ensuite ici.',
  'charge.textProcessing': 'Cela peut prendre quelques minutes. Vous n’avez pas à payer de nouveau.',
  'charge.stop': 'Ne pas payer',
  'charge.continue': 'Continuer vers {processor}',
  'charge.tryAgain': 'Réessayer',
  'charge.check': 'J’ai payé\u00a0: vérifier de nouveau',
  'charge.checkProcessing': 'Vérifier de nouveau',
  'charge.reassurance': 'Vous ne payez qu’une fois, même si vous rouvrez cette page.',
  'charge.notice.processor_unavailable': '{processor} n’a pas répondu à l’instant. Patientez un peu, puis réessayez.',
  'charge.notice.not_paid_yet': '{processor} n’a pas encore reçu le paiement.',

  'receipt.headingPaid': 'Vous avez payé {amount}',
  'receipt.headingApproved': 'Vous avez approuvé un paiement de {amount}',
  'receipt.record': 'Ceci atteste votre approbation.',
  'receipt.recordPaid': 'Ceci atteste votre approbation et votre paiement.',
  'receipt.heading': 'Reçu',
  'receipt.number': 'Numéro de reçu',
  'receipt.approvedAt': 'Approuvé le',
  'receipt.how': 'Approuvé avec',
  'receipt.method': { select: 'method', button: 'Le bouton de ce site', passkey: 'Une clé d’accès' },
  'receipt.by': 'Approuvé par',
  'receipt.askedBy': 'Demandé par',
  'receipt.status': 'Paiement',
  'receipt.paid': 'Payé',
  'receipt.paidAt': 'Payé sur {processor}',
  'receipt.collect': '{mcpServer} peut maintenant le prélever, une seule fois',
  'receipt.paidBack': 'Remboursé',
  'receipt.refund': 'Remboursement',
  'receipt.refundStatus': {
    select: 'status',
    pending: '{amount} en cours, demandé le {time}',
    succeeded: '{amount} remboursé, demandé le {time}',
    failed: '{amount} échoué, demandé le {time}',
  },
  'receipt.dispute': 'Litige auprès de votre banque',
  'receipt.disputeStatus': {
    select: 'status',
    open: 'Pas encore tranché',
    won: 'Tranché en faveur du bénéficiaire',
    lost: 'Tranché en votre faveur',
  },
  'receipt.open': 'Reçu à imprimer ou à enregistrer',
  'receipt.signed': '{brand} a signé le fichier. Chacun peut vérifier qu’il est authentique et inchangé.',
  'receipt.download': 'Télécharger le fichier signé',

  'confirmation.heading': '{mcpServer} vous demande de confirmer une action',
  'confirmation.headingCaution': '{mcpServer} vous demande de confirmer une action qui demande de la prudence',
  'confirmation.headingDestructive': '{mcpServer} vous demande de confirmer une action irréversible',
  'confirmation.acceptDestructive': 'Confirmer définitivement',
  'confirmation.label': 'Ce que vous confirmez',
  'confirmation.stated': 'D’après {mcpServer}.',
  'confirmation.accept': 'Confirmer',
  'confirmation.acceptAction': 'Confirmer\u00a0: {action}',
  'confirmation.reassurance': '{mcpServer} n’effectue cette action que si vous la confirmez.',
  'confirmation.notice.sign_in_again':
    'Rien n’a été confirmé, car votre connexion est trop ancienne. Reconnectez-vous, puis décidez.',
  'confirmation.notice.terms_changed': 'Rien n’a été confirmé. Veuillez vérifier de nouveau les détails, puis décidez.',

  'sent.heading': 'Ce qui est envoyé',
  'sent.hidden': 'Masqué',
  'sent.hiddenWhy':
    'Les valeurs qui portent le nom d’un secret, comme un mot de passe, sont masquées ici. Ce que vous confirmez les comprend.',
  'sent.unseenWhy': 'Les codes comme {code} représentent des caractères que vous ne verriez pas.',
  'sent.values': { plural: 'count', one: '{count} valeur', other: '{count} valeurs' },
  'sent.characters': { plural: 'count', one: '{count} caractère', other: '{count} caractères' },

  'confirmed.heading': 'Vous avez confirmé',
  'confirmed.label': 'Ce que vous avez confirmé',
  'confirmed.at': 'Confirmé le',
};
