import type { Texts } from '../texts.ts';

export const account: Texts<'account'> = {
  'connection.users': 'Verwendet von',
  'connection.unused': 'Von keiner App mehr',

  'me.signOut': 'Abmelden',
  'me.connections': 'Verbundene Konten',
  'me.noConnections': 'Sie haben keine verbundenen Konten. Wenn eine App eines braucht, fragt sie Sie vorher.',
  'me.lost': 'Muss neu verbunden werden',
  'me.lost.refused': '{provider} akzeptiert diese Verbindung nicht mehr.',
  'me.lost.rejected': '{provider} hat diese Verbindung zurückgewiesen.',
  'me.lost.expired': 'Diese Verbindung war zeitlich begrenzt.',
  'me.lostNext': 'Sobald das Konto gebraucht wird, werden Sie gebeten, es neu zu verbinden.',
  'me.scopes': 'Berechtigungen',
  'me.scopesUnnamed': 'Die Berechtigungen, die {provider} Ihnen bei Ihrer Zustimmung gezeigt hat',
  'me.connectedAt': 'Verbunden am',
  'me.lastUse': 'Zuletzt verwendet',
  'me.neverUsed': 'Noch nie',
  'me.usedBy': 'von {mcpServer}',
  'me.usedFor': 'für {tool}, laut {mcpServer}',
  'me.disconnect': 'Trennen',

  'disconnect.heading': 'Ihr {provider}-Konto trennen?',
  'disconnect.consequences': 'Was dann geschieht',
  'disconnect.access': {
    plural: 'count',
    one: '{mcpServers} kann dieses Konto nicht mehr verwenden.',
    other: '{mcpServers} können dieses Konto nicht mehr verwenden.',
  },
  'disconnect.deleted': '{brand} löscht den dafür gespeicherten Zugriff sofort.',
  'disconnect.revoke':
    'Wir bitten {provider}, den Zugriff zu beenden. Wenn keine Antwort kommt, versuchen wir es später noch einmal.',
  'disconnect.listed':
    '{provider} zeigt {brand} möglicherweise weiterhin in der eigenen Liste verbundener Apps. Sie können den Eintrag dort entfernen.',
  'disconnect.unsupported':
    '{provider} bietet keine Möglichkeit, den Zugriff von hier aus zu beenden. Um ihn auch dort zu beenden, entfernen Sie {brand} in Ihren {provider}-Einstellungen.',
  'disconnect.until':
    'Eine App, die zuvor Zugriff erhalten hat, kann Ihr {provider}-Konto möglicherweise noch bis {time} verwenden.',
  'disconnect.untilUnknown':
    'Eine App, die zuvor Zugriff erhalten hat, kann Ihr {provider}-Konto möglicherweise weiterhin verwenden. {provider} gibt nicht an, wie lange.',
  'disconnect.shared':
    'Andere Ihrer Verbindungen nutzen denselben Zugriff bei {provider}. Dort ändert sich daher nichts, bis Sie auch diese trennen.',
  'disconnect.again': 'Wenn eine App das Konto wieder braucht, fragt sie Sie vorher.',
  'disconnect.keep': 'Verbunden lassen',
  'disconnect.confirm': 'Trennen',

  'disconnected.heading': 'Ihr {provider}-Konto ist getrennt',
  'disconnected.revoked': '{provider} hat bestätigt, dass der Zugriff auch dort beendet ist.',
  'disconnected.refresh_token_revoked':
    '{provider} hat bestätigt, dass der Zugriff nicht verlängert werden kann, aber nicht, dass der jetzige Zugriff beendet ist.',
  'disconnected.access_token_revoked':
    '{provider} hat bestätigt, dass der jetzige Zugriff beendet ist, aber nicht, dass er nicht verlängert werden kann. {brand} hat alles gelöscht, was zum Verlängern nötig ist. Um sicherzugehen, entfernen Sie {brand} in Ihren {provider}-Einstellungen.',
  'disconnected.pending':
    '{provider} hat noch nicht bestätigt, dass der Zugriff beendet ist. Wir fragen drei Tage lang weiter nach; Sie müssen nichts tun.',
  'disconnected.unsupported':
    '{provider} bietet keine Möglichkeit, den Zugriff von hier aus zu beenden. Um ihn auch dort zu beenden, entfernen Sie {brand} in Ihren {provider}-Einstellungen.',
  'disconnected.shared':
    'Andere Ihrer Verbindungen nutzen weiterhin denselben Zugriff bei {provider}. Daher wurde er nur hier entfernt.',
  'disconnected.back': 'Zurück zu Ihren Verbindungen',

  'me.credentials': 'Gespeicherte Zugangsdaten',
  'me.fingerprint': 'Prüfwert',
  'me.fingerprintHint': 'Daran erkennen Sie Ihre Eingabe, die selbst nie angezeigt wird.',
  'me.savedAt': 'Gespeichert',
  'me.savedAgainAt': 'Erneut eingegeben',
  'me.deleteCredential': 'Löschen',
  'me.passkeys': 'Passkeys',
  'me.passkeysText': 'Damit geben Sie größere Zahlungen frei.',
  'me.addedAt': 'Hinzugefügt',
  'me.removePasskey': 'Entfernen',
  'me.passkeyCountsFrom': 'Gültig ab',
  'me.addPasskey': 'Weiteren Passkey hinzufügen',

  'deleteCredential.heading': 'Diese Zugangsdaten löschen?',
  'deleteCredential.named': 'Bezeichnung',
  'deleteCredential.access': {
    plural: 'count',
    one: '{mcpServers} kann sie nicht mehr verwenden.',
    other: '{mcpServers} können sie nicht mehr verwenden.',
  },
  'deleteCredential.deleted': '{brand} löscht sie sofort.',
  'deleteCredential.stillValid':
    'Bei dem Dienst, der sie ausgestellt hat, gelten sie weiter. Um auch das zu beenden, ändern oder widerrufen Sie sie dort.',
  'deleteCredential.again': 'Wenn eine App sie wieder braucht, fragt sie Sie vorher.',
  'deleteCredential.keep': 'Behalten',
  'deleteCredential.confirm': 'Löschen',

  'credentialDeleted.heading': 'Ihre Zugangsdaten sind gelöscht',

  'removePasskey.heading': 'Diesen Passkey entfernen?',
  'removePasskey.name': 'Passkey',
  'removePasskey.proof': 'Um sicherzugehen, dass Sie es sind, fragt Ihr Gerät nach einem Ihrer Passkeys.',
  'removePasskey.useless': 'Sie können damit nichts mehr freigeben.',
  'removePasskey.last': 'Es ist Ihr einziger. Vor der nächsten größeren Zahlung fügen Sie einen neuen hinzu.',
  'removePasskey.device':
    'Er bleibt auf Ihrem Gerät, bis Sie ihn dort in den Einstellungen für Passwörter und Passkeys löschen.',
  'removePasskey.keep': 'Behalten',
  'removePasskey.confirm': 'Entfernen',

  'passkeyRemoved.heading': 'Der Passkey ist entfernt',

  'addPasskey.heading': 'Weiteren Passkey hinzufügen',
  'addPasskey.proof':
    'Um sicherzugehen, dass Sie es sind, fragt Ihr Gerät zuerst nach einem Passkey, den Sie schon haben.',
  'addPasskey.next': 'Danach fügen Sie den neuen hinzu, auf diesem oder einem anderen Gerät.',
  'addPasskey.permitted': 'Sie haben Ihren Passkey verwendet. Fügen Sie jetzt den neuen hinzu.',
  'addPasskey.where':
    'Ihr Gerät bietet an, ihn dort, auf einem anderen Gerät oder auf einem Sicherheitsschlüssel zu speichern.',
  'addPasskey.keep': 'Zurück',

  'passkeyChange.noScript':
    'Für diesen Schritt wird {technology} benötigt, denn nur damit kann ein Browser einen Passkey verwenden. Schalten Sie es ein und laden Sie diese Seite neu, oder gehen Sie zurück.',
  'passkeyChange.cancelled':
    'Der Passkey wurde nicht verwendet und nichts wurde geändert. Sie können es noch einmal versuchen oder zurückgehen.',
  'passkeyChange.alreadyAdded':
    'Auf diesem Gerät ist schon ein Passkey von Ihnen. Wählen Sie ein anderes Gerät oder gehen Sie zurück.',
  'passkeyChange.failed':
    'Das hat nicht geklappt und nichts wurde geändert. Sie können es noch einmal versuchen oder zurückgehen.',
  'passkeyChange.unsupported':
    'Dieser Browser kann auf dieser Seite keine Passkeys verwenden. Öffnen Sie die Seite in einem anderen Browser oder gehen Sie zurück.',
  'passkeyChange.notice.failed':
    'Der Passkey ließ sich nicht prüfen und nichts wurde geändert. Sie können es noch einmal versuchen oder zurückgehen.',
  'passkeyChange.notice.not_added':
    'Der Passkey ließ sich nicht hinzufügen. Sie können es noch einmal versuchen oder zurückgehen.',
  'passkeyChange.lost':
    'Haben Sie alle Ihre Passkeys verloren? Bitten Sie den Betreiber von {brand}, sie zurückzusetzen.',
  'mute.link': 'Stummschalten oder melden',
  'mute.heading': 'Anfragen von {mcpServer}',
  'mute.text':
    'Wenn Sie {mcpServer} stummschalten, kann die App Sie nichts mehr fragen. Offene Anfragen werden abgelehnt.',
  'mute.connections': 'Verbundene Konten bleiben verbunden, bis Sie sie trennen.',
  'mute.confirm': 'Stummschalten',
  'mute.muted': 'Sie haben {mcpServer} stummgeschaltet. Die App kann Sie nichts fragen.',
  'mute.undo': 'Anfragen wieder zulassen',
  'mute.list': 'Stummgeschaltete Apps',
  'report.heading': 'An {brand} melden',
  'report.text': 'Das Team von {brand} sieht Ihren Grund. Die App erfährt nichts davon.',
  'report.reason': 'Grund',
  'report.not_started': 'Das habe ich nicht gestartet',
  'report.too_often': 'Die App fragt zu oft',
  'report.too_much': 'Die App verlangt mehr, als sie braucht',
  'report.pretends': 'Die App gibt sich für jemand anderen aus',
  'report.send': 'Melden',
  'report.done': 'Vielen Dank. Ihre Meldung wurde gespeichert.',
};
