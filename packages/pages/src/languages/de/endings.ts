import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': 'Ihre Antwort ist unterwegs',
  'working.text': 'Das dauert einige Sekunden. Sie müssen nicht noch einmal antworten.',
  'working.reload': 'Erneut prüfen',

  'declined.heading': 'Sie haben abgelehnt',
  'declined.text': 'An {mcpServer} wurde nichts weitergegeben.',

  'expired.heading': 'Diese Anfrage ist abgelaufen',
  'expired.text':
    'Sie war nur für begrenzte Zeit offen. Wenn Sie sie noch brauchen, kehren Sie zur App zurück, aus der Sie gekommen sind, und starten Sie neu.',

  'cancelled.heading': 'Diese Anfrage wurde zurückgezogen',
  'cancelled.text': '{mcpServer} braucht keine Antwort mehr. Sie können dieses Fenster schließen.',

  'failed.heading': 'Diese Anfrage konnte nicht abgeschlossen werden',
  'failed.text':
    'Unterwegs ist etwas schiefgegangen. Kehren Sie zur App zurück, aus der Sie gekommen sind, und starten Sie neu.',

  'notFound.heading': 'Hier ist nichts',
  'notFound.text':
    'Der Link ist vielleicht unvollständig oder nicht mehr gültig. Kehren Sie zu der App zurück, von der Sie ihn haben, und lassen Sie sich einen neuen geben.',

  'error.badRequest.heading': 'Diese Seite ließ sich nicht öffnen',
  'error.badRequest.text':
    'Ein Teil der Adresse fehlt oder ist beschädigt. Öffnen Sie den Link noch einmal aus Ihrer App.',
  'error.forbidden.heading': 'Dieser Schritt wurde angehalten',
  'error.forbidden.text':
    'Wir konnten nicht sicherstellen, dass er von Ihnen kam. Öffnen Sie den Link noch einmal aus Ihrer App und verwenden Sie die Schaltflächen auf der Seite.',
  'error.tooManyRequests.heading': 'Zu viele Versuche in kurzer Zeit',
  'error.tooManyRequests.text': 'Warten Sie eine Minute und öffnen Sie den Link dann noch einmal aus Ihrer App.',
  'error.unavailable.heading': 'Wir sind gerade nicht erreichbar',
  'error.unavailable.text': 'Bitte warten Sie einige Minuten und öffnen Sie den Link dann noch einmal aus Ihrer App.',
  'error.internal.heading': 'Etwas ist schiefgegangen',
  'error.internal.text': 'Der Fehler liegt bei uns. Bitte öffnen Sie den Link noch einmal aus Ihrer App.',
  'error.requestId': 'Wenn Sie um Hilfe bitten, nennen Sie diese Nummer',
};
