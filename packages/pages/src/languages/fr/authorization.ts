import type { Texts } from '../texts.ts';

export const authorization: Texts<'authorization'> = {
  'connect.heading': '{mcpServer} souhaite utiliser votre compte {provider}',
  'connect.resource': 'L’accès concerne',
  'connect.scopesUnnamed': '{provider} vous montrera ce que cela autorise avant que vous acceptiez.',
  'connect.accept': 'Continuer',
  'connect.reassurance': 'Rien n’est communiqué avant votre accord sur {provider}.',
  'connect.providerDenied':
    '{provider} indique que vous n’avez pas donné votre accord. Vous pouvez réessayer ou refuser.',
  'connect.providerUnavailable': '{provider} n’a pas répondu. Patientez un instant, puis réessayez.',
  'connect.providerRefused': '{provider} a rejeté la demande. Vous pouvez réessayer ou refuser.',
  'connect.wrongAccount': 'Ce n’était pas le compte {provider} attendu ici. Choisissez le bon compte ou refusez.',
  'connect.startAgain': 'La dernière tentative a été interrompue. Recommencez à partir d’ici.',
  'connect.fewerScopes':
    '{provider} a accordé moins d’autorisations que {mcpServer} n’en a besoin. Vous pouvez réessayer et toutes les accorder, ou refuser.',
  'connect.missing': 'Il manque encore',
  'connect.scopesChanged':
    'La demande de {mcpServer} a changé pendant que cette page était ouverte. Veuillez l’examiner de nouveau.',
  'connect.again.refused':
    '{provider} n’accepte plus l’association que vous avez faite le {date}. Associez de nouveau votre compte pour continuer.',
  'connect.again.rejected':
    '{provider} a rejeté une requête de {mcpServer}, alors que vous avez associé votre compte le {date}. Associez-le de nouveau pour continuer.',
  'connect.again.expired':
    'L’association à {provider} que vous avez faite le {date} avait une durée limitée. Associez de nouveau votre compte pour continuer.',
  'connect.again.more_scopes':
    'Vous avez associé votre compte {provider} le {date}. {mcpServer} a maintenant besoin de plus que ce que vous aviez accepté.',

  'connect.continue': 'Continuer vers {host}',

  'risk.summary': 'En résumé',
  'risk.delete': 'Pourrait supprimer',
  'risk.change': 'Pourrait modifier',
  'risk.other': 'Pourrait faire ceci',
  'risk.see': 'Pourrait voir',
  'risk.deletes': 'Supprimer\u00a0: {count}',
  'risk.changes': 'Modifier\u00a0: {count}',
  'risk.others': 'Autres\u00a0: {count}',
  'risk.sees': 'Voir\u00a0: {count}',
  'risk.new': 'Nouveau dans cette demande',
  'risk.known': 'Vous avez déjà autorisé',
  'risk.more': '{count} de plus',

  'scope.count': { plural: 'count', one: '{count} autorisation', other: '{count} autorisations' },
  'scope.openid': 'Reconnaître votre compte',
  'scope.profile': 'Voir votre nom',
  'scope.email': 'Voir votre adresse e-mail',
  'scope.offlineAccess': 'Conserver l’accès en votre absence',

  'leaving.heading': 'Vous allez être redirigé vers {provider}',
  'leaving.text': '{provider} vous demandera si {mcpServer} peut utiliser votre compte. Vous reviendrez ensuite ici.',
  'leaving.continue': 'Continuer vers {host}',
  'leaving.back': 'Retour',

  'device.heading': 'Saisissez un code sur {provider}',
  'device.text': '{provider} vous demande un code court avant que {mcpServer} puisse utiliser votre compte.',
  'device.safety':
    'Continuez uniquement si vous avez lancé cette opération vous-même. Ne saisissez jamais un code que quelqu’un d’autre vous a envoyé.',
  'device.copy': 'Copiez ce code ou notez-le.',
  'device.enter': 'Saisissez-le sur {provider} et donnez-y votre accord.',
  'device.return': 'Lorsque {provider} vous indique que c’est terminé, revenez ici.',
  'device.back': 'Retour',
  'device.check': 'J’ai saisi le code',
  'device.notice.not_yet': '{provider} attend toujours que vous saisissiez le code et donniez votre accord.',
  'device.notice.wait': '{provider} a besoin d’un instant. Patientez quelques secondes, puis réessayez.',
  'device.endsSoon': 'Le code expire {relative}, à {time}.',
  'device.ends': 'Le code expire le {time}.',

  'done.heading': 'Votre compte {provider} est associé',
  'done.account': 'Compte',
  'done.scopes': '{mcpServer} peut maintenant',
  'done.connections': 'Voir ou dissocier vos comptes à tout moment',
};
