import type { Texts } from '../texts.ts';

export const authorization: Texts<'authorization'> = {
  'connect.heading': '{mcpServer} möchte Ihr {provider}-Konto verwenden',
  'connect.resource': 'Der Zugriff gilt für',
  'connect.scopesUnnamed': '{provider} zeigt Ihnen, was damit erlaubt wird, bevor Sie zustimmen.',
  'connect.accept': 'Weiter',
  'connect.reassurance': 'Nichts wird weitergegeben, bevor Sie bei {provider} zustimmen.',
  'connect.providerDenied':
    '{provider} meldet, dass Sie nicht zugestimmt haben. Sie können es noch einmal versuchen oder ablehnen.',
  'connect.providerUnavailable':
    '{provider} hat nicht geantwortet. Warten Sie einen Moment und versuchen Sie es dann noch einmal.',
  'connect.providerRefused':
    '{provider} hat die Anfrage zurückgewiesen. Sie können es noch einmal versuchen oder ablehnen.',
  'connect.wrongAccount':
    'Das war ein anderes {provider}-Konto als das hier benötigte. Bitte wählen Sie das richtige oder lehnen Sie ab.',
  'connect.startAgain': 'Der letzte Versuch wurde unterbrochen. Bitte beginnen Sie hier noch einmal.',
  'connect.fewerScopes':
    '{provider} hat weniger Berechtigungen erteilt, als {mcpServer} benötigt. Sie können es noch einmal versuchen und alle erlauben oder ablehnen.',
  'connect.missing': 'Es fehlen noch',
  'connect.scopesChanged':
    'Die Anfrage von {mcpServer} hat sich geändert, während diese Seite geöffnet war. Bitte sehen Sie sie noch einmal an.',
  'connect.again.refused':
    '{provider} akzeptiert die Verbindung vom {date} nicht mehr. Verbinden Sie das Konto neu, um fortzufahren.',
  'connect.again.rejected':
    '{provider} hat eine Anfrage von {mcpServer} zurückgewiesen, obwohl Sie Ihr Konto am {date} verbunden haben. Verbinden Sie es neu, um fortzufahren.',
  'connect.again.expired':
    'Ihre Verbindung zu {provider} vom {date} war zeitlich begrenzt. Verbinden Sie das Konto neu, um fortzufahren.',
  'connect.again.more_scopes':
    'Sie haben Ihr {provider}-Konto am {date} verbunden. {mcpServer} benötigt jetzt mehr, als Sie damals erlaubt haben.',

  'connect.continue': 'Weiter zu {host}',

  'risk.summary': 'Kurz gefasst',
  'risk.delete': 'Könnte löschen',
  'risk.change': 'Könnte ändern',
  'risk.other': 'Könnte Folgendes tun',
  'risk.see': 'Könnte sehen',
  'risk.deletes': 'Löschen: {count}',
  'risk.changes': 'Ändern: {count}',
  'risk.others': 'Weitere: {count}',
  'risk.sees': 'Sehen: {count}',
  'risk.new': 'Neu in dieser Anfrage',
  'risk.known': 'Bereits von Ihnen erlaubt',
  'risk.more': '{count} weitere',

  'scope.count': { plural: 'count', one: '{count} Berechtigung', other: '{count} Berechtigungen' },
  'scope.openid': 'Ihr Konto wiedererkennen',
  'scope.profile': 'Ihren Namen sehen',
  'scope.email': 'Ihre E-Mail-Adresse sehen',
  'scope.offlineAccess': 'Auch in Ihrer Abwesenheit verbunden bleiben',

  'leaving.heading': 'Sie werden zu {provider} weitergeleitet',
  'leaving.text': '{provider} fragt Sie, ob {mcpServer} Ihr Konto verwenden darf. Danach kehren Sie hierher zurück.',
  'leaving.continue': 'Weiter zu {host}',
  'leaving.back': 'Zurück',

  'device.heading': 'Geben Sie einen Code bei {provider} ein',
  'device.text': '{provider} fragt Sie nach einem kurzen Code, bevor {mcpServer} Ihr Konto verwenden darf.',
  'device.safety':
    'Fahren Sie nur fort, wenn Sie dies selbst begonnen haben. Geben Sie niemals einen Code ein, den Ihnen jemand anderes geschickt hat.',
  'device.copy': 'Kopieren Sie diesen Code oder schreiben Sie ihn auf.',
  'device.enter': 'Geben Sie ihn bei {provider} ein und stimmen Sie dort zu.',
  'device.return': 'Wenn {provider} meldet, dass Sie fertig sind, kehren Sie hierher zurück.',
  'device.back': 'Zurück',
  'device.check': 'Ich habe den Code eingegeben',
  'device.notice.not_yet': '{provider} wartet noch darauf, dass Sie den Code eingeben und zustimmen.',
  'device.notice.wait':
    '{provider} braucht einen Moment. Warten Sie einige Sekunden und versuchen Sie es dann noch einmal.',
  'device.endsSoon': 'Der Code läuft {relative} ab, um {time}.',
  'device.ends': 'Der Code läuft am {time} ab.',

  'done.heading': 'Ihr {provider}-Konto ist verbunden',
  'done.account': 'Konto',
  'done.scopes': 'Das kann {mcpServer} jetzt',
  'done.connections': 'Verbundene Konten jederzeit ansehen oder trennen',
};
