import { noted } from '../message.ts';

/** The texts of payments, confirmations, receipts, and passkeys on the way to them. */
export const approvals = {
  'approval.signInAgain': 'Sign in again to approve',
  'approval.signInAgainWhy':
    'You signed in a while ago. Please sign in once more before you approve, so that we know it is still you.',
  'approval.signInAgainConfirm': 'Sign in again to confirm',
  'approval.signInAgainConfirmWhy':
    'You signed in a while ago. Please sign in once more before you confirm, so that we know it is still you.',
  'approval.notice.sign_in_again':
    'Nothing was approved, because you signed in too long ago. Sign in again, then decide.',
  'approval.notice.terms_changed': 'Nothing was approved. Please look at the details once more, then decide.',

  'payment.heading': noted(
    '{mcpServer} asks you to approve a payment of {amount}',
    '{amount} is a formatted sum such as €24.90.',
  ),
  'payment.ask': noted('{mcpServer} asks you to approve a payment', 'Heading above the sum.'),
  'payment.payeeBefore': noted('Payee', 'Before the payment; payment.payee is used afterwards.'),
  'payment.payeeNotVerified': noted(
    'Named by {mcpServer}. {brand} has not checked this payee.',
    'Below the name of a payee that the operator of the site has not registered.',
  ),
  'payment.approve': noted('Approve {amount}', 'A button. {amount} is a formatted sum such as €24.90.'),
  'payment.payee': 'Paid to',
  'payment.amount': 'Amount',
  'payment.items': 'What you pay for',
  'payment.item': 'Item',
  'payment.itemTotal': 'Price',
  'payment.quantity': noted(
    '{quantity} × {unit}',
    '{quantity} is a number without a unit, {unit} the price of one piece.',
  ),
  'payment.total': 'Total',
  'payment.reference': 'Reference',
  'payment.testMode': 'Test mode: no money is taken. Do not treat this as a payment.',
  'payment.accept': noted('Approve', 'A button; the only act is to approve the payment shown.'),
  'payment.acceptWithPasskey': 'Approve with passkey',
  'payment.passkeyWhy':
    'Your passkey comes next: a key kept on your device, which you unlock with a fingerprint, a face or a PIN.',
  'payment.reassuranceProcessor': 'After you approve, you pay at {processor}. Nothing is charged before that.',
  'payment.reassuranceDirect':
    'After you approve, {mcpServer} may collect this amount from you, once. Nothing is charged if you decline.',
  'payment.notice.payment_not_finished':
    'The payment was not finished, and nothing was charged. You can try again, or decline.',
  'payment.notice.processor_unavailable':
    '{processor} did not answer, and nothing was charged. Wait a moment, then try again.',
  'payment.notice.processor_unavailableUnnamed':
    'The payment service did not answer, and nothing was charged. Wait a moment, then try again.',
  'payment.notice.passkey_failed':
    'The passkey could not be checked. Nothing was approved. You can try again, or decline.',

  'passkey.headingAssert': 'Approve {amount} with your passkey',
  'passkey.headingRegister': 'Add a passkey to approve {amount}',
  'passkey.textAssert':
    'Your device asks for your fingerprint, your face or your PIN. That unlocks your passkey, the key kept on it for {brand}.',
  'passkey.textRegister':
    'This payment needs a passkey: a key kept on your device, which you unlock with a fingerprint, a face or a PIN.',
  'passkey.textRegisterNext': 'You add it once. Then you approve the payment with it.',
  'passkey.start': 'Use passkey',
  'passkey.add': 'Add a passkey',
  'passkey.back': 'Go back',
  'passkey.reassuranceAssert': 'Using your passkey approves this payment.',
  'passkey.reassuranceRegister': 'Adding a passkey approves nothing yet.',
  'passkey.noScript': noted(
    'This step needs {technology}, because a browser can only reach a passkey with it. Switch it on and load this page again, go back, or decline.',
    '{technology} is JavaScript.',
  ),
  'passkey.waiting': 'Follow the steps that your device shows.',
  'passkey.sending': 'Done. One moment, please.',
  'passkey.cancelled': 'The passkey was not used. You can try again, or decline.',
  'passkey.alreadyAdded':
    'This device already holds a passkey for you. Go back and approve with it, or choose another device.',
  'passkey.failed': 'That did not work. You can try again, go back, or decline.',
  'passkey.unsupported':
    'This browser cannot use passkeys on this page. Open the link from your app in another browser, or decline.',
  'passkey.notice.failed': 'The passkey could not be checked. Nothing was approved. You can try again, or decline.',
  'passkey.notice.not_added': 'The passkey could not be added. Nothing was approved. You can try again, or decline.',

  'passkeySignIn.heading': 'Sign in again to add a passkey',
  'passkeySignIn.text':
    'This payment needs a passkey, and you do not have one yet. To keep anyone else from adding one in your name, sign in again first.',

  'passkeyWait.heading': 'Your passkey is too new for this payment',
  'passkeyWait.from':
    'You added your passkey a short time ago. You can approve payments of this size with it from {time} on.',
  'passkeyWait.why':
    'This gives you time to notice a passkey that somebody else added, or a reset that you did not ask for. If that happened, tell the operator of {brand}.',

  'dailyLimit.heading': 'You have reached your limit for 24 hours',
  'dailyLimit.why':
    'The operator of {brand} limits how much you can approve for {mcpServer} within 24 hours. This payment would go beyond that. Nothing was approved.',
  'dailyLimit.from': 'You can approve it from {time} on, if the link is still valid then.',

  'charge.heading': noted(
    'You approved. Now pay {amount} at {processor}',
    '{processor} is a payment service such as Stripe.',
  ),
  'charge.ask': 'You approved. Now pay at {processor}',
  'charge.headingProcessing': '{processor} is working on your payment',
  'charge.text': noted(
    '{processor} takes the payment for {payee}. Afterwards you come back here.',
    '{payee} is the name of the seller.',
  ),
  'charge.textProcessing': 'This can take a few minutes. You do not have to pay again.',
  'charge.stop': 'Do not pay',
  'charge.continue': 'Continue to {processor}',
  'charge.tryAgain': 'Try again',
  'charge.check': 'I have paid: check again',
  'charge.checkProcessing': 'Check again',
  'charge.reassurance': 'You pay once, however often you open this page.',
  'charge.notice.processor_unavailable': '{processor} did not answer just now. Wait a moment, then try again.',
  'charge.notice.not_paid_yet': '{processor} has not received the payment yet.',

  'receipt.headingPaid': 'You paid {amount}',
  'receipt.headingApproved': 'You approved a payment of {amount}',
  'receipt.record': 'This is a record of your approval.',
  'receipt.recordPaid': 'This is a record of your approval and your payment.',
  'receipt.heading': 'Receipt',
  'receipt.number': 'Receipt number',
  'receipt.approvedAt': 'Approved on',
  'receipt.how': 'Approved with',
  'receipt.method': { select: 'method', button: 'The button on this site', passkey: 'A passkey' },
  'receipt.by': noted('Approved by', 'Label before the name of a person.'),
  'receipt.askedBy': 'Asked for by',
  'receipt.status': 'Payment',
  'receipt.paid': 'Paid',
  'receipt.paidAt': 'Paid at {processor}',
  'receipt.collect': '{mcpServer} may now collect it from you, once',
  'receipt.paidBack': 'Paid back',
  'receipt.refund': noted('Refund', 'Label before one refund of a payment.'),
  'receipt.refundStatus': {
    select: 'status',
    pending: '{amount} is on its way, requested {time}',
    succeeded: '{amount} paid back, requested {time}',
    failed: '{amount} failed, requested {time}',
  },
  'receipt.dispute': noted('Dispute at your bank', 'Label. The person asked their bank to take the payment back.'),
  'receipt.disputeStatus': {
    select: 'status',
    open: 'Not decided yet',
    won: 'Decided for the payee',
    lost: 'Decided for you',
  },
  'receipt.open': noted('Receipt to print or save', 'A link.'),
  'receipt.signed': '{brand} has signed the file. Anyone can check that it is genuine and unchanged.',
  'receipt.download': 'Download the signed file',

  'confirmation.heading': noted(
    '{mcpServer} asks you to confirm a step',
    'A step is any action of the app: deleting, sending, publishing.',
  ),
  'confirmation.headingCaution': '{mcpServer} asks you to confirm a step that needs care',
  'confirmation.headingDestructive': '{mcpServer} asks you to confirm a step that cannot be undone',
  'confirmation.acceptDestructive': noted('Confirm permanently', 'A button, for a step that cannot be undone.'),
  'confirmation.label': 'What you are confirming',
  'confirmation.stated': 'As stated by {mcpServer}.',
  'confirmation.accept': 'Confirm',
  'confirmation.acceptAction': noted(
    'Confirm: {action}',
    'A button. The verb stays first. The action is a verb phrase of the app: Delete repository.',
  ),
  'confirmation.reassurance': '{mcpServer} takes this step only if you confirm it.',
  'confirmation.notice.sign_in_again':
    'Nothing was confirmed, because you signed in too long ago. Sign in again, then decide.',
  'confirmation.notice.terms_changed': 'Nothing was confirmed. Please look at the details once more, then decide.',

  'sent.heading': noted('What is sent', 'Above the exact data that an app sends after the person confirms.'),
  'sent.hidden': noted('Hidden', 'Replaces a password or another secret.'),
  'sent.hiddenWhy':
    'Values with the name of a secret, such as a password, are hidden here. What you confirm includes them.',
  'sent.unseenWhy': noted(
    'Codes such as {code} stand for characters that you would not see.',
    '{code} is a code such as U+200B.',
  ),
  'sent.values': { plural: 'count', one: '{count} value', other: '{count} values' },
  'sent.characters': { plural: 'count', one: '{count} character', other: '{count} characters' },

  'confirmed.heading': 'You confirmed',
  'confirmed.label': 'What you confirmed',
  'confirmed.at': 'Confirmed on',
} as const;
