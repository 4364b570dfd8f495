import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': 'Melden Sie sich an, um fortzufahren',
  'signIn.text': 'Eine App, die Sie nutzen, hat eine Frage an Sie. Melden Sie sich an, damit nur Sie sie sehen.',
  'signIn.connections': 'Danach sehen Sie, welche Ihrer Konten verbunden sind, und können sie trennen.',
  'signIn.continue': 'Weiter zur Anmeldung',
  'signIn.choose': 'Wählen Sie das Konto, das Sie hier für Ihre Apps verwenden.',
  'signIn.with': 'Mit {name} anmelden',

  'signInFailed.heading': 'Die Anmeldung hat nicht geklappt',
  'signInFailed.text':
    'Der Anmeldedienst hat nicht geantwortet oder die Anmeldung abgelehnt. Warten Sie einen Moment und versuchen Sie es dann noch einmal.',
  'signInFailed.retry': 'Noch einmal versuchen',

  'signInAgain.title': 'Erneut anmelden',
  'signInAgain.heading': 'Melden Sie sich noch einmal bei {app} an',
  'signInAgain.text':
    'Für diesen Schritt muss Ihre Anmeldung frisch sein. Melden Sie sich noch einmal bei {app} an, öffnen Sie von dort einen Link, und kommen Sie innerhalb von fünf Minuten auf diese Seite zurück.',

  'signedOut.heading': 'Sie sind abgemeldet',
  'signedOut.text': 'Sie können dieses Fenster schließen.',
  'signedOut.elsewhere': 'Bei {host} sind Sie möglicherweise noch angemeldet.',
  'signedOut.there': 'Auch dort abmelden',

  'wrongPerson.heading': 'Diese Anfrage gilt einem anderen Konto',
  'wrongPerson.text':
    'Wenn Sie ein weiteres Konto haben, melden Sie sich damit an. Wenn Ihnen jemand anderes diesen Link geschickt hat, schließen Sie dieses Fenster. Es wurde nichts weitergegeben.',
  'wrongPerson.switchAccount': 'Anderes Konto verwenden',

  'wrongBrowser.heading': 'Dies wurde in einem anderen Browser begonnen',
  'wrongBrowser.text': 'Zu Ihrem Schutz wurde der Vorgang hier angehalten. Es wurde nichts verbunden.',
  'wrongBrowser.next':
    'Wenn Sie ihn selbst begonnen haben, kehren Sie zu Ihrer App zurück und starten Sie neu. Wenn Ihnen jemand anderes einen Link geschickt hat, schließen Sie dieses Fenster.',

  'noRequest.heading': 'Zu dieser Antwort gibt es keine Anfrage',
  'noRequest.text':
    'Der Dienst, der Sie zurückgeschickt hat, hat nicht angegeben, zu welcher Anfrage seine Antwort gehört, oder die Anfrage ist beendet. Es wurde nichts verbunden und nichts abgelehnt.',
  'noRequest.next': 'Öffnen Sie die Anfrage noch einmal, um fortzufahren oder abzulehnen.',
  'noRequest.nextInApp': 'Kehren Sie zu Ihrer App zurück und öffnen Sie den Link noch einmal.',
  'noRequest.open': 'Anfrage öffnen',
};
