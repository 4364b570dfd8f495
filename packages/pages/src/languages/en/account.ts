import { noted } from '../message.ts';

/** The texts of /me and the pages below it. */
export const account = {
  'connection.users': 'Used by',
  'connection.unused': noted('No app any more', 'Replaces the list of apps that use an account.'),

  'me.signOut': 'Sign out',
  'me.connections': 'Connected accounts',
  'me.noConnections': 'You have no connected accounts. When an app needs one, it asks you first.',
  'me.lost': 'Needs to be connected again',
  'me.lost.refused': '{provider} no longer accepts this connection.',
  'me.lost.rejected': '{provider} rejected this connection.',
  'me.lost.expired': 'This connection was for a limited time.',
  'me.lostNext': 'You will be asked to connect again when the account is needed.',
  'me.scopes': 'Permissions',
  'me.scopesUnnamed': 'The permissions that {provider} showed you when you agreed',
  'me.connectedAt': 'Connected',
  'me.lastUse': 'Last used',
  'me.neverUsed': 'Not yet',
  'me.usedBy': noted('by {mcpServer}', 'Follows a time: 3 March, by Issue Tracker.'),
  'me.usedFor': 'for {tool}, as {mcpServer} says',
  'me.disconnect': 'Disconnect',

  'disconnect.heading': 'Disconnect your {provider} account?',
  'disconnect.consequences': 'What happens then',
  'disconnect.access': noted(
    {
      plural: 'count',
      one: '{mcpServers} can no longer use this account.',
      other: '{mcpServers} can no longer use this account.',
    },
    '{mcpServers} is a list of {count} names.',
  ),
  'disconnect.deleted': '{brand} deletes the access it kept for this, at once.',
  'disconnect.revoke': 'We ask {provider} to end the access. If it does not answer, we try again later.',
  'disconnect.listed': '{provider} may still show {brand} in its own list of connected apps. You can remove it there.',
  'disconnect.unsupported':
    '{provider} offers no way to end the access from here. To end it there too, remove {brand} in your {provider} settings.',
  'disconnect.until':
    'An app that was given access earlier may still be able to use your {provider} account until {time}.',
  'disconnect.untilUnknown':
    'An app that was given access earlier may still be able to use your {provider} account. {provider} does not say for how long.',
  'disconnect.shared':
    'Other connections of yours use the same access at {provider}, so nothing changes there until you disconnect them too.',
  'disconnect.again': 'If an app needs the account again, it asks you first.',
  'disconnect.keep': 'Keep it connected',
  'disconnect.confirm': 'Disconnect',

  'disconnected.heading': 'Your {provider} account is disconnected',
  'disconnected.revoked': '{provider} confirmed that the access has ended there too.',
  'disconnected.refresh_token_revoked':
    '{provider} confirmed that the access cannot be renewed. It did not confirm that the present access has ended.',
  'disconnected.access_token_revoked':
    '{provider} confirmed that the present access has ended, but not that it cannot be renewed. {brand} deleted what is needed to renew it. To be sure, remove {brand} in your {provider} settings.',
  'disconnected.pending':
    '{provider} has not confirmed yet that the access has ended. We keep asking for three days; you do not have to do anything.',
  'disconnected.unsupported':
    '{provider} offers no way to end the access from here. To end it there too, remove {brand} in your {provider} settings.',
  'disconnected.shared':
    'Other connections of yours still use the same access at {provider}, so it was removed only here.',
  'disconnected.back': 'Back to your connections',

  'me.credentials': 'Saved access details',
  'me.fingerprint': noted(
    'Fingerprint',
    'Label before a short checksum of stored access details. Nothing of a finger.',
  ),
  'me.fingerprintHint': 'Identifies what you entered, which is never shown.',
  'me.savedAt': 'Saved',
  'me.savedAgainAt': 'Entered again',
  'me.deleteCredential': 'Delete',
  'me.passkeys': 'Passkeys',
  'me.passkeysText': 'You use these to approve larger payments.',
  'me.addedAt': 'Added',
  'me.removePasskey': 'Remove',
  'me.passkeyCountsFrom': noted('Counts from', 'Label before the time from which the passkey may approve payments.'),
  'me.addPasskey': 'Add another passkey',

  'deleteCredential.heading': 'Delete these access details?',
  'deleteCredential.named': 'Named',
  'deleteCredential.access': noted(
    { plural: 'count', one: '{mcpServers} can no longer use them.', other: '{mcpServers} can no longer use them.' },
    '{mcpServers} is a list of {count} names; "them" are the access details.',
  ),
  'deleteCredential.deleted': '{brand} deletes them at once.',
  'deleteCredential.stillValid':
    'They still work at the service that issued them. To stop that too, change or revoke them there.',
  'deleteCredential.again': 'If an app needs them again, it asks you first.',
  'deleteCredential.keep': 'Keep them',
  'deleteCredential.confirm': 'Delete',

  'credentialDeleted.heading': 'Your access details are deleted',

  'removePasskey.heading': 'Remove this passkey?',
  'removePasskey.name': 'Passkey',
  'removePasskey.proof': 'To make sure that it is you, your device asks you to use one of your passkeys.',
  'removePasskey.useless': 'You can no longer approve anything with it.',
  'removePasskey.last': 'It is your only one. Before the next larger payment, you add a new one.',
  'removePasskey.device':
    'It stays on your device until you delete it there, in the settings for passwords and passkeys.',
  'removePasskey.keep': 'Keep it',
  'removePasskey.confirm': 'Remove',

  'passkeyRemoved.heading': 'The passkey is removed',

  'addPasskey.heading': 'Add another passkey',
  'addPasskey.proof': 'To make sure that it is you, your device first asks you to use a passkey that you already have.',
  'addPasskey.next': 'Then you add the new one, on this device or on another one.',
  'addPasskey.permitted': 'You have used your passkey. Now add the new one.',
  'addPasskey.where': 'Your device offers to keep it there, on another device, or on a security key.',
  'addPasskey.keep': 'Go back',

  'passkeyChange.noScript':
    'This step needs {technology}, because a browser can only reach a passkey with it. Switch it on and load this page again, or go back.',
  'passkeyChange.cancelled': 'The passkey was not used, and nothing was changed. You can try again, or go back.',
  'passkeyChange.alreadyAdded': 'This device already holds a passkey for you. Choose another device, or go back.',
  'passkeyChange.failed': 'That did not work, and nothing was changed. You can try again, or go back.',
  'passkeyChange.unsupported':
    'This browser cannot use passkeys on this page. Open the page in another browser, or go back.',
  'passkeyChange.notice.failed':
    'The passkey could not be checked, and nothing was changed. You can try again, or go back.',
  'passkeyChange.notice.not_added': 'The passkey could not be added. You can try again, or go back.',
  'passkeyChange.lost': 'Have you lost all your passkeys? Ask the operator of {brand} to reset them.',
  'mute.link': noted('Mute or report', 'A link that leads to a page about one app.'),
  'mute.heading': 'Requests by {mcpServer}',
  'mute.text': 'Mute {mcpServer}, and it can ask you nothing more. Its open requests are declined.',
  'mute.connections': 'Accounts that you have connected stay connected until you disconnect them.',
  'mute.confirm': noted('Mute', 'A button: the app can ask the reader nothing more.'),
  'mute.muted': 'You muted {mcpServer}. It can ask you nothing.',
  'mute.undo': noted('Allow requests again', 'A button.'),
  'mute.list': 'Muted apps',
  'report.heading': 'Report to {brand}',
  'report.text': 'The people who run {brand} will see your reason. {brand} does not tell the app.',
  'report.reason': 'Reason',
  'report.not_started': 'I did not start this',
  'report.too_often': 'It asks too often',
  'report.too_much': 'It asks for more than it needs',
  'report.pretends': 'It pretends to be someone else',
  'report.send': noted('Report', 'A button.'),
  'report.done': 'Thank you. Your report has been recorded.',
} as const;
