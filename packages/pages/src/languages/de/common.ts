import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': 'Hilfe',
  'layout.privacy': 'Datenschutz',
  'layout.terms': 'Nutzungsbedingungen',
  'layout.language': 'Sprache:',
  'layout.passkeysChanged':
    'Ihre Passkeys wurden am {time} geändert: Einer wurde hinzugefügt oder entfernt. Wenn Sie das nicht waren, geben Sie {brand} sofort Bescheid.',
  'layout.seePasskeys': 'Ihre Passkeys ansehen',

  'link.open': '{host} öffnen',
  'link.newTab': '(in neuem Tab)',

  'asker.label': 'Wer fragt',

  'facts.destination': 'Weiter geht es bei',
  'facts.person': 'Angemeldet als',
  'facts.personHost': 'über {host}',

  'head.claimBoth': 'gibt an: begonnen in „{mcpClient}“, für „{tool}“',
  'head.claimClient': 'gibt an: begonnen in „{mcpClient}“',
  'head.claimTool': 'gibt an: für „{tool}“',
  'head.step': 'Schritt {step} von {steps}',

  'match.text': 'Wenn Ihre App einen Code zeigt, muss es dieser sein.',
  'match.other': 'Anderer Code? Ablehnen.',

  'words.of': 'Worte von {mcpServer}, nicht von {brand}',

  'person.switch': 'Wechseln',
  'person.switchWhat': 'Konto',

  'decision.label': 'Ihre Entscheidung',
  'decision.decline': 'Ablehnen',
  'decision.endsSoon': 'Diese Anfrage endet {relative}, um {time}.',
  'decision.ends': 'Diese Anfrage endet am {time}.',

  'next.close': 'Schließen Sie diesen Tab und kehren Sie zur App zurück, aus der Sie gekommen sind.',
  'next.closeNamed':
    'Schließen Sie diesen Tab und kehren Sie zur App zurück, aus der Sie gekommen sind (sie nennt sich „{mcpClient}“).',
  'next.returning': 'In drei Sekunden kehren Sie zu {host} zurück.',
  'next.stay': 'Hier bleiben',
  'next.return': 'Zurück zu {mcpServer}',

  'fault.operator':
    'Das funktioniert erst, wenn der Betreiber von {brand} etwas ändert. Nennen Sie ihm diese Nummer: {reference}',

  'live.show': 'Anzeigen',
  'live.hide': 'Verbergen',
  'live.copy': 'Kopieren',
  'live.copied': 'Kopiert',
  'live.ended': 'Diese Anfrage ist beendet.',
  'live.see': 'Ergebnis ansehen',
  'live.timeUp': 'Die Zeit ist abgelaufen.',
};
