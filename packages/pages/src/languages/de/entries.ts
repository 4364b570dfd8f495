import type { Texts } from '../texts.ts';

export const entries: Texts<'entries'> = {
  'fields.note': 'Die Felder hat {mcpServer} benannt, nicht {brand}.',
  'fields.optional': '(optional)',
  'fields.example': 'Zum Beispiel',
  'fields.choose': 'Auswählen',
  'fields.noAnswer': 'Keine Angabe',
  'fields.offset': 'Zeitzone von {field}',
  'fields.offsetShort': 'Zeitzone',
  'fields.multilineSecret': 'Fügen Sie alles ein, mit der ersten und der letzten Zeile. Angezeigt werden nur Punkte.',
  'fields.check': 'Bitte prüfen: {page}',
  'fields.invalid': 'Es wurde noch nichts gesendet. Bitte sehen Sie sich die markierten Felder noch einmal an.',
  'fields.lookAgain': 'Bitte noch einmal ansehen',
  'fields.secretsGone': 'Zu Ihrer Sicherheit sind die verdeckten Felder leer. Füllen Sie sie noch einmal aus.',
  'fields.termsChanged':
    'Es wurde nichts gesendet. Die Anfrage hat sich geändert. Bitte sehen Sie sie noch einmal an und entscheiden Sie dann.',

  'hint.length': '{min} bis {max} Zeichen.',
  'hint.minLength': 'Mindestens {min} Zeichen.',
  'hint.maxLength': 'Höchstens {max} Zeichen.',
  'hint.range': 'Von {min} bis {max}.',
  'hint.minimum': 'Mindestens {min}.',
  'hint.maximum': 'Höchstens {max}.',
  'hint.items': 'Wählen Sie {min} bis {max} aus.',
  'hint.exactItems': 'Wählen Sie {min} aus.',
  'hint.minItems': 'Wählen Sie mindestens {min} aus.',
  'hint.maxItems': 'Wählen Sie höchstens {max} aus.',

  'fault.missing': 'Dieses Feld ist noch leer. Bitte füllen Sie es aus.',
  'fault.missingChoice': 'Bitte wählen Sie etwas aus.',
  'fault.number': 'Das ist keine Zahl. Sie sollte aussehen wie {example}.',
  'fault.ambiguous': 'Das kann {whole} oder {decimal} bedeuten. Geben Sie eine der beiden Zahlen genau so ein.',
  'fault.integer': 'Das ist keine ganze Zahl. Verwenden Sie nur Ziffern, zum Beispiel {example}.',
  'fault.too_short': 'Das ist zu kurz. Nötig sind mindestens {min} Zeichen.',
  'fault.too_long': 'Das ist zu lang. Erlaubt sind höchstens {max} Zeichen.',
  'fault.email': 'Das ist keine E-Mail-Adresse. Sie sollte aussehen wie {example}.',
  'fault.uri': 'Das ist keine vollständige Adresse. Sie sollte aussehen wie {example}.',
  'fault.date': 'Dieses Datum gibt es nicht.',
  'fault.date-time': 'Dieses Datum mit dieser Uhrzeit gibt es nicht.',
  'fault.minimum': 'Das ist zu niedrig. Nötig ist mindestens {min}.',
  'fault.maximum': 'Das ist zu hoch. Erlaubt ist höchstens {max}.',
  'fault.not_an_option': 'Bitte wählen Sie aus der Liste.',
  'fault.too_few': 'Sie haben zu wenig ausgewählt. Wählen Sie mindestens {min} aus.',
  'fault.too_many': 'Sie haben zu viel ausgewählt. Wählen Sie höchstens {max} aus.',
  'fault.pattern':
    'Das scheint nicht zu stimmen. Prüfen Sie, ob es vollständig ist und nichts anderes mitkopiert wurde.',
  'fault.otherForm': 'Das Format stimmt nicht. Prüfen Sie, ob Zeichen fehlen oder überzählig sind.',
  'fault.unchecked':
    'Das ließ sich gerade nicht prüfen. Warten Sie einen Moment und senden Sie es noch einmal, oder lehnen Sie ab.',
  'fault.other': 'Das lässt sich nicht verwenden. Bitte geben Sie es noch einmal ein.',

  'credential.heading': '{mcpServer} bittet Sie um Zugangsdaten',
  'credential.once':
    '{brand} gibt sie einmal an {mcpServer} weiter und an niemanden sonst: weder an die App, aus der Sie kommen, noch an deren KI.',
  'credential.lasting':
    '{brand} bewahrt sie verschlossen auf, bis Sie sie löschen, und gibt sie {mcpServer} bei Bedarf. Niemand sonst erhält sie: weder die App, aus der Sie kommen, noch deren KI.',
  'credential.replaces':
    '{mcpServer} meldet, dass Ihre bisherigen Zugangsdaten zurückgewiesen wurden. Die neuen ersetzen sie.',
  'credential.checked': '{brand} prüft zuerst bei {host}, ob sie gültig sind.',
  'credential.send': 'Senden',
  'credential.save': 'Speichern',
  'credential.reassurance': 'Wenn Sie ablehnen, wird nichts weitergegeben.',
  'credential.safety': 'Geben Sie niemals das Passwort ein, mit dem Sie sich hier anmelden.',
  'credential.notice.rejected':
    '{host} hat Ihre Eingabe nicht akzeptiert und nichts wurde gespeichert. Prüfen Sie sie und geben Sie sie noch einmal ein oder lehnen Sie ab.',
  'credential.notice.rejectedUnnamed':
    'Ihre Eingabe wurde nicht akzeptiert und nichts wurde gespeichert. Prüfen Sie sie und geben Sie sie noch einmal ein oder lehnen Sie ab.',
  'credential.notice.unavailable':
    '{host} hat nicht geantwortet, daher ließ sich Ihre Eingabe nicht prüfen. Es wurde nichts gespeichert. Warten Sie einen Moment und geben Sie sie dann noch einmal ein.',
  'credential.notice.unavailableUnnamed':
    'Ihre Eingabe ließ sich gerade nicht prüfen. Es wurde nichts gespeichert. Warten Sie einen Moment und geben Sie sie dann noch einmal ein.',

  'credentialDone.headingOnce': 'Ihre Zugangsdaten sind gesendet',
  'credentialDone.headingLasting': 'Ihre Zugangsdaten sind gespeichert',
  'credentialDone.asked': 'Angefragt',
  'credentialDone.once': '{mcpServer} erhält sie einmal und kann fortfahren.',
  'credentialDone.lasting': '{mcpServer} kann fortfahren und sie wieder verwenden, bis Sie sie löschen.',
  'credentialDone.manage': 'Gespeichertes jederzeit ansehen oder löschen',

  'form.heading': '{mcpServer} hat einige Fragen an Sie',
  'form.headingOne': '{mcpServer} hat eine Frage an Sie',
  'form.questions': { plural: 'count', one: 'Frage', other: 'Fragen' },
  'form.lead': 'Ihre Antwort geht an {mcpServer}. Sie läuft nicht über die App, aus der Sie kommen.',
  'form.leadSecret':
    '{brand} gibt Ihre Antwort einmal an {mcpServer} weiter und an niemanden sonst: weder an die App, aus der Sie kommen, noch an deren KI.',
  'form.send': 'Senden',
  'form.yes': 'Ja',
  'form.no': 'Nein',
  'form.reassurance': 'Wenn Sie ablehnen, wird nichts weitergegeben.',
  'form.safety': 'Geben Sie hier keine Passwörter, Schlüssel oder Kartennummern ein.',

  'formDone.heading': 'Sie haben geantwortet',
  'formDone.text': '{mcpServer} kann fortfahren.',
};
