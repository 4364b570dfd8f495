import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': 'Connectez-vous pour continuer',
  'signIn.text':
    'Une application que vous utilisez a une question pour vous. Connectez-vous afin d’être la seule personne à la voir.',
  'signIn.connections': 'Vous pourrez ensuite voir lesquels de vos comptes sont associés et les dissocier.',
  'signIn.continue': 'Continuer vers la connexion',
  'signIn.choose': 'Choisissez le compte que vous utilisez ici pour vos applications.',
  'signIn.with': 'Se connecter avec {name}',

  'signInFailed.heading': 'La connexion n’a pas abouti',
  'signInFailed.text':
    'Le service de connexion n’a pas répondu ou a refusé la connexion. Patientez un instant, puis réessayez.',
  'signInFailed.retry': 'Réessayer',

  'signInAgain.title': 'Se reconnecter',
  'signInAgain.heading': 'Reconnectez-vous dans {app}',
  'signInAgain.text':
    'Cette étape demande une connexion récente. Reconnectez-vous dans {app}, ouvrez un lien depuis cette application, puis revenez sur cette page dans les cinq minutes.',

  'signedOut.heading': 'Vous êtes déconnecté',
  'signedOut.text': 'Vous pouvez fermer cette fenêtre.',
  'signedOut.elsewhere': 'Vous êtes peut-être encore connecté à {host}.',
  'signedOut.there': 'Se déconnecter là aussi',

  'wrongPerson.heading': 'Cette demande concerne un autre compte',
  'wrongPerson.text':
    'Si vous avez un autre compte, utilisez-le pour vous connecter. Si quelqu’un d’autre vous a envoyé ce lien, fermez cette fenêtre. Rien n’a été communiqué.',
  'wrongPerson.switchAccount': 'Utiliser un autre compte',

  'wrongBrowser.heading': 'L’opération a commencé dans un autre navigateur',
  'wrongBrowser.text': 'Pour vous protéger, elle a été arrêtée ici. Aucun compte n’a été associé.',
  'wrongBrowser.next':
    'Si vous l’avez commencée vous-même, revenez à votre application et recommencez. Si quelqu’un d’autre vous a envoyé un lien, fermez cette fenêtre.',

  'noRequest.heading': 'Aucune demande ne correspond à cette réponse',
  'noRequest.text':
    'Le service qui vous a renvoyé ici n’a pas indiqué à quelle demande sa réponse se rapporte, ou la demande est terminée. Rien n’a été associé ni refusé.',
  'noRequest.next': 'Ouvrez de nouveau la demande pour continuer ou refuser.',
  'noRequest.nextInApp': 'Revenez à votre application et ouvrez de nouveau le lien.',
  'noRequest.open': 'Ouvrir la demande',
};
