import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': 'Aide',
  'layout.privacy': 'Confidentialité',
  'layout.terms': 'Conditions d’utilisation',
  'layout.language': 'Langue\u00a0:',
  'layout.passkeysChanged':
    'Vos clés d’accès ont changé le {time}\u00a0: l’une d’elles a été ajoutée ou supprimée. Si ce n’était pas vous, prévenez {brand} immédiatement.',
  'layout.seePasskeys': 'Voir vos clés d’accès',

  'link.open': 'Ouvrir {host}',
  'link.newTab': '(dans un nouvel onglet)',

  'asker.label': 'Qui fait la demande',

  'facts.destination': 'Vous continuerez sur',
  'facts.person': 'Connecté en tant que',
  'facts.personHost': 'via {host}',

  'head.claimBoth': 'indique que la demande vient de «\u00a0{mcpClient}\u00a0», pour «\u00a0{tool}\u00a0»',
  'head.claimClient': 'indique que la demande vient de «\u00a0{mcpClient}\u00a0»',
  'head.claimTool': 'indique que c’est pour «\u00a0{tool}\u00a0»',
  'head.step': 'Étape {step} sur {steps}',

  'match.text': 'Si votre application affiche un code, il doit être identique à celui-ci.',
  'match.other': 'Un autre code\u202f? Refusez.',

  'words.of': 'Les mots de {mcpServer}, et non de {brand}',

  'person.switch': 'Changer',
  'person.switchWhat': 'de compte',

  'decision.label': 'Votre décision',
  'decision.decline': 'Refuser',
  'decision.endsSoon': 'Cette demande expire {relative}, à {time}.',
  'decision.ends': 'Cette demande expire le {time}.',

  'next.close': 'Fermez cet onglet et revenez à l’application d’où vous venez.',
  'next.closeNamed':
    'Fermez cet onglet et revenez à l’application d’où vous venez (elle se nomme «\u00a0{mcpClient}\u00a0»).',
  'next.returning': 'Vous revenez à {host} dans trois secondes.',
  'next.stay': 'Rester ici',
  'next.return': 'Revenir à {mcpServer}',

  'fault.operator':
    'Cette étape restera impossible tant que l’exploitant de {brand} n’aura pas fait une modification. Communiquez-lui ce numéro\u00a0: {reference}',

  'live.show': 'Afficher',
  'live.hide': 'Masquer',
  'live.copy': 'Copier',
  'live.copied': 'Copié',
  'live.ended': 'Cette demande est terminée.',
  'live.see': 'Voir le résultat',
  'live.timeUp': 'Le temps est écoulé.',
};
