import type { Texts } from '../texts.ts';

export const entries: Texts<'entries'> = {
  'fields.note': 'Les champs ont été nommés par {mcpServer}, et non par {brand}.',
  'fields.optional': '(facultatif)',
  'fields.example': 'Par exemple',
  'fields.choose': 'Choisir',
  'fields.noAnswer': 'Sans réponse',
  'fields.offset': 'Fuseau horaire de {field}',
  'fields.offsetShort': 'Fuseau horaire',
  'fields.multilineSecret':
    'Collez le texte en entier, avec sa première et sa dernière ligne. Il s’affiche sous forme de points.',
  'fields.check': 'À vérifier\u00a0: {page}',
  'fields.invalid': 'Rien n’a encore été envoyé. Veuillez revoir les champs signalés.',
  'fields.lookAgain': 'À revoir',
  'fields.secretsGone': 'Pour votre sécurité, les champs masqués ont été vidés. Remplissez-les de nouveau.',
  'fields.termsChanged': 'Rien n’a été envoyé. La demande a changé. Veuillez l’examiner de nouveau, puis décidez.',

  'hint.length': { plural: 'max', one: 'De {min} à {max} caractère.', other: 'De {min} à {max} caractères.' },
  'hint.minLength': { plural: 'min', one: '{min} caractère au minimum.', other: '{min} caractères au minimum.' },
  'hint.maxLength': { plural: 'max', one: '{max} caractère au maximum.', other: '{max} caractères au maximum.' },
  'hint.range': 'De {min} à {max}.',
  'hint.minimum': '{min} ou plus.',
  'hint.maximum': '{max} ou moins.',
  'hint.items': 'Choisissez-en de {min} à {max}.',
  'hint.exactItems': 'Choisissez-en {min}.',
  'hint.minItems': 'Choisissez-en au moins {min}.',
  'hint.maxItems': 'Choisissez-en {max} au maximum.',

  'fault.missing': 'Ce champ est encore vide. Veuillez le remplir.',
  'fault.missingChoice': 'Veuillez faire un choix.',
  'fault.number': 'Ce n’est pas un nombre. Exemple de format\u00a0: {example}.',
  'fault.ambiguous': 'Cela peut signifier {whole} ou {decimal}. Saisissez l’un de ces deux nombres sous cette forme.',
  'fault.integer': 'Ce n’est pas un nombre entier. Utilisez uniquement des chiffres, par exemple {example}.',
  'fault.too_short': {
    plural: 'min',
    one: 'C’est trop court. Il faut au moins {min} caractère.',
    other: 'C’est trop court. Il faut au moins {min} caractères.',
  },
  'fault.too_long': {
    plural: 'max',
    one: 'C’est trop long. {max} caractère au maximum.',
    other: 'C’est trop long. {max} caractères au maximum.',
  },
  'fault.email': 'Ce n’est pas une adresse e-mail. Exemple de format\u00a0: {example}.',
  'fault.uri': 'Ce n’est pas une adresse complète. Exemple de format\u00a0: {example}.',
  'fault.date': 'Cette date n’existe pas.',
  'fault.date-time': 'Cette date et cette heure n’existent pas.',
  'fault.minimum': 'C’est trop bas. Le minimum est {min}.',
  'fault.maximum': 'C’est trop élevé. Le maximum est {max}.',
  'fault.not_an_option': 'Veuillez choisir dans la liste.',
  'fault.too_few': 'Vous n’avez pas fait assez de choix. Choisissez-en au moins {min}.',
  'fault.too_many': 'Vous avez fait trop de choix. Choisissez-en {max} au maximum.',
  'fault.pattern': 'Cela ne semble pas correct. Vérifiez que tout y est et que rien d’autre n’a été copié avec.',
  'fault.otherForm': 'Le format n’est pas correct. Vérifiez s’il manque des caractères ou s’il y en a en trop.',
  'fault.unchecked': 'Cela n’a pas pu être vérifié pour le moment. Patientez un instant, puis renvoyez-le, ou refusez.',
  'fault.other': 'Cela ne peut pas être utilisé. Veuillez le saisir de nouveau.',

  'credential.heading': '{mcpServer} vous demande des identifiants',
  'credential.once':
    '{brand} les transmet une seule fois à {mcpServer}, et à personne d’autre\u00a0: ni à l’application d’où vous venez, ni à son IA.',
  'credential.lasting':
    '{brand} les conserve sous clé jusqu’à ce que vous les supprimiez, et les transmet à {mcpServer} en cas de besoin. Personne d’autre ne les reçoit\u00a0: ni l’application d’où vous venez, ni son IA.',
  'credential.replaces':
    'Selon {mcpServer}, les identifiants que vous avez saisis auparavant ont été rejetés. Les nouveaux les remplacent.',
  'credential.checked': '{brand} vérifie d’abord auprès de {host} qu’ils sont valables.',
  'credential.send': 'Envoyer',
  'credential.save': 'Enregistrer',
  'credential.reassurance': 'Rien n’est communiqué si vous refusez.',
  'credential.safety': 'Ne saisissez jamais le mot de passe qui vous sert à vous connecter ici.',
  'credential.notice.rejected':
    '{host} n’a pas accepté votre saisie et rien n’a été conservé. Vérifiez-la et saisissez-la de nouveau, ou refusez.',
  'credential.notice.rejectedUnnamed':
    'Votre saisie n’a pas été acceptée et rien n’a été conservé. Vérifiez-la et saisissez-la de nouveau, ou refusez.',
  'credential.notice.unavailable':
    '{host} n’a pas répondu\u00a0: votre saisie n’a pas pu être vérifiée. Rien n’a été conservé. Patientez un instant, puis saisissez-la de nouveau.',
  'credential.notice.unavailableUnnamed':
    'Votre saisie n’a pas pu être vérifiée pour le moment. Rien n’a été conservé. Patientez un instant, puis saisissez-la de nouveau.',

  'credentialDone.headingOnce': 'Vos identifiants sont envoyés',
  'credentialDone.headingLasting': 'Vos identifiants sont enregistrés',
  'credentialDone.asked': 'Demandé',
  'credentialDone.once': '{mcpServer} les reçoit une seule fois et peut continuer.',
  'credentialDone.lasting': '{mcpServer} peut continuer et les réutiliser jusqu’à ce que vous les supprimiez.',
  'credentialDone.manage': 'Voir ou supprimer ce que vous avez enregistré à tout moment',

  'form.heading': '{mcpServer} vous pose quelques questions',
  'form.headingOne': '{mcpServer} vous pose une question',
  'form.questions': { plural: 'count', one: 'Question', other: 'Questions' },
  'form.lead': 'Votre réponse va à {mcpServer}. Elle ne passe pas par l’application d’où vous venez.',
  'form.leadSecret':
    '{brand} transmet votre réponse une seule fois à {mcpServer}, et à personne d’autre\u00a0: ni à l’application d’où vous venez, ni à son IA.',
  'form.send': 'Envoyer',
  'form.yes': 'Oui',
  'form.no': 'Non',
  'form.reassurance': 'Rien n’est communiqué si vous refusez.',
  'form.safety': 'Ne saisissez ici ni mot de passe, ni clé, ni numéro de carte.',

  'formDone.heading': 'Vous avez répondu',
  'formDone.text': '{mcpServer} peut continuer.',
};
