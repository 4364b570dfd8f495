import type { Texts } from '../texts.ts';

export const account: Texts<'account'> = {
  'connection.users': 'Utilisé par',
  'connection.unused': 'Plus aucune application',

  'me.signOut': 'Se déconnecter',
  'me.connections': 'Comptes associés',
  'me.noConnections': 'Vous n’avez aucun compte associé. Si une application en a besoin, elle vous le demande d’abord.',
  'me.lost': 'À associer de nouveau',
  'me.lost.refused': '{provider} n’accepte plus cette association.',
  'me.lost.rejected': '{provider} a rejeté cette association.',
  'me.lost.expired': 'Cette association avait une durée limitée.',
  'me.lostNext': 'Il vous sera demandé d’associer de nouveau ce compte lorsqu’il sera nécessaire.',
  'me.scopes': 'Autorisations',
  'me.scopesUnnamed': 'Les autorisations que {provider} vous a présentées lors de votre accord',
  'me.connectedAt': 'Associé le',
  'me.lastUse': 'Dernière utilisation',
  'me.neverUsed': 'Jamais utilisé',
  'me.usedBy': 'par {mcpServer}',
  'me.usedFor': 'pour {tool}, d’après {mcpServer}',
  'me.disconnect': 'Dissocier',

  'disconnect.heading': 'Dissocier votre compte {provider}\u202f?',
  'disconnect.consequences': 'Ce qui se passe ensuite',
  'disconnect.access': {
    plural: 'count',
    one: '{mcpServers} ne peut plus utiliser ce compte.',
    other: '{mcpServers} ne peuvent plus utiliser ce compte.',
  },
  'disconnect.deleted': '{brand} supprime immédiatement l’accès conservé pour ce compte.',
  'disconnect.revoke':
    'Nous demandons à {provider} de mettre fin à l’accès. En l’absence de réponse, nous réessayons plus tard.',
  'disconnect.listed':
    '{provider} peut encore afficher {brand} dans sa propre liste d’applications associées. Vous pouvez l’y supprimer.',
  'disconnect.unsupported':
    '{provider} ne permet pas de mettre fin à l’accès depuis ici. Pour y mettre fin là-bas aussi, supprimez {brand} dans vos paramètres {provider}.',
  'disconnect.until':
    'Une application qui a reçu un accès auparavant peut encore utiliser votre compte {provider} jusqu’au {time}.',
  'disconnect.untilUnknown':
    'Une application qui a reçu un accès auparavant peut encore utiliser votre compte {provider}. {provider} ne précise pas pendant combien de temps.',
  'disconnect.shared':
    'D’autres associations utilisent le même accès à {provider}\u00a0: rien n’y change tant que vous ne les avez pas supprimées aussi.',
  'disconnect.again': 'Si une application a de nouveau besoin de ce compte, elle vous le demande d’abord.',
  'disconnect.keep': 'Garder associé',
  'disconnect.confirm': 'Dissocier',

  'disconnected.heading': 'Votre compte {provider} est dissocié',
  'disconnected.revoked': '{provider} a confirmé que l’accès y a également pris fin.',
  'disconnected.refresh_token_revoked':
    '{provider} a confirmé que l’accès ne peut pas être renouvelé, mais pas que l’accès actuel a pris fin.',
  'disconnected.access_token_revoked':
    '{provider} a confirmé que l’accès actuel a pris fin, mais pas qu’il ne peut pas être renouvelé. {brand} a supprimé tout ce qui permet de le renouveler. Pour en être sûr, supprimez {brand} dans vos paramètres {provider}.',
  'disconnected.pending':
    '{provider} n’a pas encore confirmé la fin de l’accès. Nous continuons à le demander pendant trois jours\u202f; vous n’avez rien à faire.',
  'disconnected.unsupported':
    '{provider} ne permet pas de mettre fin à l’accès depuis ici. Pour y mettre fin là-bas aussi, supprimez {brand} dans vos paramètres {provider}.',
  'disconnected.shared':
    'D’autres associations utilisent encore le même accès à {provider}\u00a0: il n’a donc été supprimé qu’ici.',
  'disconnected.back': 'Revenir à vos comptes associés',

  'me.credentials': 'Identifiants enregistrés',
  'me.fingerprint': 'Code de contrôle',
  'me.fingerprintHint': 'Il identifie ce que vous avez saisi, qui n’est jamais affiché.',
  'me.savedAt': 'Enregistrés le',
  'me.savedAgainAt': 'Saisis de nouveau le',
  'me.deleteCredential': 'Supprimer',
  'me.passkeys': 'Clés d’accès',
  'me.passkeysText': 'Elles vous servent à approuver les paiements importants.',
  'me.addedAt': 'Ajoutée le',
  'me.removePasskey': 'Supprimer',
  'me.passkeyCountsFrom': 'Valable à partir du',
  'me.addPasskey': 'Ajouter une autre clé d’accès',

  'deleteCredential.heading': 'Supprimer ces identifiants\u202f?',
  'deleteCredential.named': 'Nom',
  'deleteCredential.access': {
    plural: 'count',
    one: '{mcpServers} ne peut plus les utiliser.',
    other: '{mcpServers} ne peuvent plus les utiliser.',
  },
  'deleteCredential.deleted': '{brand} les supprime immédiatement.',
  'deleteCredential.stillValid':
    'Ils restent valables auprès du service qui les a délivrés. Pour y mettre fin aussi, modifiez-les ou révoquez-les là-bas.',
  'deleteCredential.again': 'Si une application en a de nouveau besoin, elle vous le demande d’abord.',
  'deleteCredential.keep': 'Les conserver',
  'deleteCredential.confirm': 'Supprimer',

  'credentialDeleted.heading': 'Vos identifiants sont supprimés',

  'removePasskey.heading': 'Supprimer cette clé d’accès\u202f?',
  'removePasskey.name': 'Clé d’accès',
  'removePasskey.proof':
    'Pour s’assurer que c’est bien vous, votre appareil vous demande d’utiliser l’une de vos clés d’accès.',
  'removePasskey.useless': 'Vous ne pourrez plus rien approuver avec elle.',
  'removePasskey.last':
    'C’est votre seule clé d’accès. Avant le prochain paiement important, vous en ajouterez une nouvelle.',
  'removePasskey.device':
    'Elle reste sur votre appareil jusqu’à ce que vous l’y supprimiez, dans les paramètres des mots de passe et clés d’accès.',
  'removePasskey.keep': 'La conserver',
  'removePasskey.confirm': 'Supprimer',

  'passkeyRemoved.heading': 'La clé d’accès est supprimée',

  'addPasskey.heading': 'Ajouter une autre clé d’accès',
  'addPasskey.proof':
    'Pour s’assurer que c’est bien vous, votre appareil vous demande d’abord d’utiliser une clé d’accès que vous avez déjà.',
  'addPasskey.next': 'Vous ajoutez ensuite la nouvelle, sur cet appareil ou sur un autre.',
  'addPasskey.permitted': 'Vous avez utilisé votre clé d’accès. Ajoutez maintenant la nouvelle.',
  'addPasskey.where':
    'Votre appareil propose de l’enregistrer sur place, sur un autre appareil ou sur une clé de sécurité.',
  'addPasskey.keep': 'Retour',

  'passkeyChange.noScript':
    'Cette étape nécessite {technology}, seul moyen pour un navigateur d’utiliser une clé d’accès. Activez-le et rechargez cette page, ou revenez en arrière.',
  'passkeyChange.cancelled':
    'La clé d’accès n’a pas été utilisée et rien n’a été modifié. Vous pouvez réessayer ou revenir en arrière.',
  'passkeyChange.alreadyAdded':
    'Cet appareil contient déjà une clé d’accès pour vous. Choisissez un autre appareil ou revenez en arrière.',
  'passkeyChange.failed':
    'L’opération n’a pas abouti et rien n’a été modifié. Vous pouvez réessayer ou revenir en arrière.',
  'passkeyChange.unsupported':
    'Ce navigateur ne peut pas utiliser de clé d’accès sur cette page. Ouvrez la page dans un autre navigateur ou revenez en arrière.',
  'passkeyChange.notice.failed':
    'La clé d’accès n’a pas pu être vérifiée et rien n’a été modifié. Vous pouvez réessayer ou revenir en arrière.',
  'passkeyChange.notice.not_added':
    'La clé d’accès n’a pas pu être ajoutée. Vous pouvez réessayer ou revenir en arrière.',
  'passkeyChange.lost':
    'Vous avez perdu toutes vos clés d’accès\u202f? Demandez à l’exploitant de {brand} de les réinitialiser.',
  'mute.link': 'Mettre en sourdine ou signaler',
  'mute.heading': 'Demandes de {mcpServer}',
  'mute.text':
    'Si vous mettez {mcpServer} en sourdine, l’application ne pourra plus rien vous demander. Ses demandes en attente seront refusées.',
  'mute.connections': 'Les comptes que vous avez associés le restent jusqu’à ce que vous les dissociiez.',
  'mute.confirm': 'Mettre en sourdine',
  'mute.muted': 'Vous avez mis {mcpServer} en sourdine. L’application ne peut rien vous demander.',
  'mute.undo': 'Autoriser à nouveau les demandes',
  'mute.list': 'Applications en sourdine',
  'report.heading': 'Signaler à {brand}',
  'report.text': 'L’équipe de {brand} verra votre motif. L’application n’en est pas informée.',
  'report.reason': 'Motif',
  'report.not_started': 'Je ne suis pas à l’origine de cette demande',
  'report.too_often': 'Elle envoie trop de demandes',
  'report.too_much': 'Elle demande plus que nécessaire',
  'report.pretends': 'Elle se fait passer pour quelqu’un d’autre',
  'report.send': 'Signaler',
  'report.done': 'Merci. Votre signalement a été enregistré.',
};
