import type { Texts } from '../texts.ts';

export const approvals: Texts<'approvals'> = {
  'approval.signInAgain': 'Zur Freigabe erneut anmelden',
  'approval.signInAgainWhy':
    'Ihre Anmeldung ist schon eine Weile her. Bitte melden Sie sich vor der Freigabe noch einmal an, damit wir wissen, dass Sie es noch sind.',
  'approval.signInAgainConfirm': 'Zum Bestätigen erneut anmelden',
  'approval.signInAgainConfirmWhy':
    'Ihre Anmeldung ist schon eine Weile her. Bitte melden Sie sich vor dem Bestätigen noch einmal an, damit wir wissen, dass Sie es noch sind.',
  'approval.notice.sign_in_again':
    'Es wurde nichts freigegeben, weil Ihre Anmeldung zu lange her ist. Melden Sie sich erneut an und entscheiden Sie dann.',
  'approval.notice.terms_changed':
    'Es wurde nichts freigegeben. Bitte sehen Sie sich die Angaben noch einmal an und entscheiden Sie dann.',

  'payment.heading': '{mcpServer} bittet Sie, eine Zahlung über {amount} freizugeben',
  'payment.ask': '{mcpServer} bittet Sie, eine Zahlung freizugeben',
  'payment.payeeBefore': 'Empfänger',
  'payment.payeeNotVerified': 'Angegeben von {mcpServer}. {brand} hat diesen Empfänger nicht geprüft.',
  'payment.approve': '{amount} freigeben',
  'payment.payee': 'Empfänger',
  'payment.amount': 'Betrag',
  'payment.items': 'Wofür Sie zahlen',
  'payment.item': 'Position',
  'payment.itemTotal': 'Preis',
  'payment.quantity': '{quantity} × {unit}',
  'payment.total': 'Summe',
  'payment.reference': 'Referenz',
  'payment.testMode': 'Testmodus: Es wird kein Geld abgebucht. Betrachten Sie dies nicht als Zahlung.',
  'payment.accept': 'Freigeben',
  'payment.acceptWithPasskey': 'Mit Passkey freigeben',
  'payment.passkeyWhy':
    'Als Nächstes kommt Ihr Passkey: ein Schlüssel auf Ihrem Gerät, den Sie mit Fingerabdruck, Gesicht oder PIN entsperren.',
  'payment.reassuranceProcessor': 'Nach der Freigabe zahlen Sie bei {processor}. Vorher wird nichts abgebucht.',
  'payment.reassuranceDirect':
    'Nach der Freigabe darf {mcpServer} diesen Betrag einmal bei Ihnen einziehen. Wenn Sie ablehnen, wird nichts abgebucht.',
  'payment.notice.payment_not_finished':
    'Die Zahlung wurde nicht abgeschlossen und nichts wurde abgebucht. Sie können es noch einmal versuchen oder ablehnen.',
  'payment.notice.processor_unavailable':
    '{processor} hat nicht geantwortet und nichts wurde abgebucht. Warten Sie einen Moment und versuchen Sie es dann noch einmal.',
  'payment.notice.processor_unavailableUnnamed':
    'Der Zahlungsdienst hat nicht geantwortet und nichts wurde abgebucht. Warten Sie einen Moment und versuchen Sie es dann noch einmal.',
  'payment.notice.passkey_failed':
    'Der Passkey ließ sich nicht prüfen. Es wurde nichts freigegeben. Sie können es noch einmal versuchen oder ablehnen.',

  'passkey.headingAssert': 'Geben Sie {amount} mit Ihrem Passkey frei',
  'passkey.headingRegister': 'Fügen Sie einen Passkey hinzu, um {amount} freizugeben',
  'passkey.textAssert':
    'Ihr Gerät fragt nach Fingerabdruck, Gesicht oder PIN. Damit entsperren Sie Ihren Passkey, den Schlüssel, der darauf für {brand} gespeichert ist.',
  'passkey.textRegister':
    'Für diese Zahlung brauchen Sie einen Passkey: einen Schlüssel auf Ihrem Gerät, den Sie mit Fingerabdruck, Gesicht oder PIN entsperren.',
  'passkey.textRegisterNext': 'Sie fügen ihn einmal hinzu. Danach geben Sie die Zahlung damit frei.',
  'passkey.start': 'Passkey verwenden',
  'passkey.add': 'Passkey hinzufügen',
  'passkey.back': 'Zurück',
  'passkey.reassuranceAssert': 'Mit Ihrem Passkey geben Sie diese Zahlung frei.',
  'passkey.reassuranceRegister': 'Mit dem Hinzufügen eines Passkeys geben Sie noch nichts frei.',
  'passkey.noScript':
    'Für diesen Schritt wird {technology} benötigt, denn nur damit kann ein Browser einen Passkey verwenden. Schalten Sie es ein und laden Sie diese Seite neu, gehen Sie zurück oder lehnen Sie ab.',
  'passkey.waiting': 'Folgen Sie den Anweisungen auf Ihrem Gerät.',
  'passkey.sending': 'Fertig. Einen Moment bitte.',
  'passkey.cancelled': 'Der Passkey wurde nicht verwendet. Sie können es noch einmal versuchen oder ablehnen.',
  'passkey.alreadyAdded':
    'Auf diesem Gerät ist schon ein Passkey von Ihnen. Gehen Sie zurück und geben Sie die Zahlung damit frei, oder wählen Sie ein anderes Gerät.',
  'passkey.failed': 'Das hat nicht geklappt. Sie können es noch einmal versuchen, zurückgehen oder ablehnen.',
  'passkey.unsupported':
    'Dieser Browser kann auf dieser Seite keine Passkeys verwenden. Öffnen Sie den Link aus Ihrer App in einem anderen Browser oder lehnen Sie ab.',
  'passkey.notice.failed':
    'Der Passkey ließ sich nicht prüfen. Es wurde nichts freigegeben. Sie können es noch einmal versuchen oder ablehnen.',
  'passkey.notice.not_added':
    'Der Passkey ließ sich nicht hinzufügen. Es wurde nichts freigegeben. Sie können es noch einmal versuchen oder ablehnen.',

  'passkeySignIn.heading': 'Melden Sie sich erneut an, um einen Passkey hinzuzufügen',
  'passkeySignIn.text':
    'Für diese Zahlung brauchen Sie einen Passkey und Sie haben noch keinen. Damit niemand sonst einen in Ihrem Namen hinzufügt, melden Sie sich zuerst noch einmal an.',

  'passkeyWait.heading': 'Ihr Passkey ist für diese Zahlung noch zu neu',
  'passkeyWait.from':
    'Sie haben Ihren Passkey erst vor Kurzem hinzugefügt. Zahlungen in dieser Höhe können Sie damit ab {time} freigeben.',
  'passkeyWait.why':
    'So haben Sie Zeit zu bemerken, wenn jemand anderes einen Passkey hinzugefügt hat oder Passkeys ohne Ihren Wunsch zurückgesetzt wurden. Wenn das passiert ist, wenden Sie sich an den Betreiber von {brand}.',

  'dailyLimit.heading': 'Sie haben Ihr Limit für 24 Stunden erreicht',
  'dailyLimit.why':
    'Der Betreiber von {brand} begrenzt, wie viel Sie innerhalb von 24 Stunden für {mcpServer} freigeben können. Diese Zahlung würde das Limit überschreiten. Es wurde nichts freigegeben.',
  'dailyLimit.from': 'Sie können sie ab {time} freigeben, sofern der Link dann noch gültig ist.',

  'charge.heading': 'Freigegeben. Zahlen Sie jetzt {amount} bei {processor}',
  'charge.ask': 'Freigegeben. Zahlen Sie jetzt bei {processor}',
  'charge.headingProcessing': '{processor} bearbeitet Ihre Zahlung',
  'charge.text': '{processor} nimmt die Zahlung für {payee} entgegen. Danach kehren Sie hierher zurück.',
  'charge.textProcessing': 'Das kann einige Minuten dauern. Sie müssen nicht noch einmal zahlen.',
  'charge.stop': 'Nicht zahlen',
  'charge.continue': 'Weiter zu {processor}',
  'charge.tryAgain': 'Noch einmal versuchen',
  'charge.check': 'Ich habe gezahlt: erneut prüfen',
  'charge.checkProcessing': 'Erneut prüfen',
  'charge.reassurance': 'Sie zahlen nur einmal, egal wie oft Sie diese Seite öffnen.',
  'charge.notice.processor_unavailable':
    '{processor} hat gerade nicht geantwortet. Warten Sie einen Moment und versuchen Sie es dann noch einmal.',
  'charge.notice.not_paid_yet': '{processor} hat die Zahlung noch nicht erhalten.',

  'receipt.headingPaid': 'Sie haben {amount} gezahlt',
  'receipt.headingApproved': 'Sie haben eine Zahlung über {amount} freigegeben',
  'receipt.record': 'Dies ist der Beleg Ihrer Freigabe.',
  'receipt.recordPaid': 'Dies ist der Beleg Ihrer Freigabe und Ihrer Zahlung.',
  'receipt.heading': 'Beleg',
  'receipt.number': 'Belegnummer',
  'receipt.approvedAt': 'Freigegeben am',
  'receipt.how': 'Freigegeben mit',
  'receipt.method': { select: 'method', button: 'Schaltfläche auf dieser Website', passkey: 'Passkey' },
  'receipt.by': 'Freigegeben von',
  'receipt.askedBy': 'Angefragt von',
  'receipt.status': 'Zahlung',
  'receipt.paid': 'Gezahlt',
  'receipt.paidAt': 'Bei {processor} gezahlt',
  'receipt.collect': '{mcpServer} darf den Betrag jetzt einmal bei Ihnen einziehen',
  'receipt.paidBack': 'Erstattet',
  'receipt.refund': 'Erstattung',
  'receipt.refundStatus': {
    select: 'status',
    pending: '{amount} unterwegs, veranlasst am {time}',
    succeeded: '{amount} erstattet, veranlasst am {time}',
    failed: '{amount} fehlgeschlagen, veranlasst am {time}',
  },
  'receipt.dispute': 'Reklamation bei Ihrer Bank',
  'receipt.disputeStatus': {
    select: 'status',
    open: 'Noch nicht entschieden',
    won: 'Zugunsten des Empfängers entschieden',
    lost: 'Zu Ihren Gunsten entschieden',
  },
  'receipt.open': 'Beleg zum Drucken oder Speichern',
  'receipt.signed': '{brand} hat die Datei signiert. Jeder kann prüfen, dass sie echt und unverändert ist.',
  'receipt.download': 'Signierte Datei herunterladen',

  'confirmation.heading': '{mcpServer} bittet Sie, einen Schritt zu bestätigen',
  'confirmation.headingCaution': '{mcpServer} bittet Sie, einen Schritt zu bestätigen, der Vorsicht erfordert',
  'confirmation.headingDestructive': '{mcpServer} bittet Sie, einen unwiderruflichen Schritt zu bestätigen',
  'confirmation.acceptDestructive': 'Endgültig bestätigen',
  'confirmation.label': 'Was Sie bestätigen',
  'confirmation.stated': 'Laut {mcpServer}.',
  'confirmation.accept': 'Bestätigen',
  'confirmation.acceptAction': 'Bestätigen: {action}',
  'confirmation.reassurance': '{mcpServer} führt diesen Schritt nur aus, wenn Sie ihn bestätigen.',
  'confirmation.notice.sign_in_again':
    'Es wurde nichts bestätigt, weil Ihre Anmeldung zu lange her ist. Melden Sie sich erneut an und entscheiden Sie dann.',
  'confirmation.notice.terms_changed':
    'Es wurde nichts bestätigt. Bitte sehen Sie sich die Angaben noch einmal an und entscheiden Sie dann.',

  'sent.heading': 'Was gesendet wird',
  'sent.hidden': 'Ausgeblendet',
  'sent.hiddenWhy':
    'Werte mit dem Namen eines Geheimnisses, etwa eines Passworts, sind hier ausgeblendet. Was Sie bestätigen, schließt sie ein.',
  'sent.unseenWhy': 'Codes wie {code} stehen für Zeichen, die Sie nicht sehen würden.',
  'sent.values': { plural: 'count', one: '{count} Wert', other: '{count} Werte' },
  'sent.characters': { plural: 'count', one: '{count} Zeichen', other: '{count} Zeichen' },

  'confirmed.heading': 'Sie haben bestätigt',
  'confirmed.label': 'Was Sie bestätigt haben',
  'confirmed.at': 'Bestätigt am',
};
