import { approvalsEn } from './approvals/en.ts';
import { entriesEn } from './entries/en.ts';

/**
 * The English texts, which define the list of all texts. `{name}` is a placeholder; every locale must have the same
 * placeholders. Tone: short sentences, no exclamation marks, no word that users would have to look up.
 */
export const en = {
  ...approvalsEn,
  ...entriesEn,
  'layout.help': 'Help',
  'layout.passkeysChanged':
    'Your passkeys changed on {time}: one was added or removed. If that was not you, tell {brand} now.',
  'layout.seePasskeys': 'See your passkeys',
  'link.open': 'Open {host}',
  'link.newTab': '(in a new tab)',

  'asker.label': 'Who is asking',
  'facts.destination': 'You will continue at',
  'facts.code': 'Check the code in your app',
  'facts.codeHint': 'If your app shows another code, or none, decline.',
  'facts.person': 'Signed in as',
  'facts.personHost': 'with {host}',
  'facts.switchAccount': 'Not you? Use another account',
  'message.heading': 'Message from {mcpServer}',
  'message.note': 'Written by {mcpServer}, not by {brand}.',
  'message.fromBoth': '{mcpServer} says this is for {tool}, used in {mcpClient}.',
  'message.fromClient': '{mcpServer} says this was started in {mcpClient}.',
  'message.fromTool': '{mcpServer} says this is for {tool}.',
  'decision.label': 'Your decision',
  'decision.decline': 'Decline',
  'decision.endsSoon': 'This request ends {relative}, at {time}.',
  'decision.ends': 'This request ends on {time}.',
  'next.close': 'You can close this window and go back to {mcpServer}.',
  'next.return': 'Go back to {mcpServer}',

  'connect.heading': '{mcpServer} wants to use your {provider} account',
  'connect.resource': 'The access is for',
  'connect.scopes': 'It would be able to',
  'connect.newScopes': 'New: it would also be able to',
  'connect.knownScopes': 'You already allowed it to',
  'connect.scopesUnnamed': '{provider} will show you what this allows before you agree.',
  'connect.accept': 'Continue',
  'connect.reassurance': 'Nothing is shared before you agree at {provider}.',
  'connect.providerDenied': '{provider} reports that you did not agree. You can try again, or decline.',
  'connect.providerUnavailable': '{provider} did not answer. Wait a moment, then try again.',
  'connect.providerRefused': '{provider} rejected the request. You can try again, or decline.',
  'connect.wrongAccount':
    'That was a different {provider} account than the one needed here. Please choose the right one, or decline.',
  'connect.startAgain': 'The last try was interrupted. Please start again from here.',
  'connect.fewerScopes':
    '{provider} gave fewer permissions than {mcpServer} needs. You can try again and allow all of them, or decline.',
  'connect.missing': 'Still missing',
  'connect.scopesChanged': 'The request by {mcpServer} changed while this page was open. Please look at it again.',
  'connect.again.refused': '{provider} no longer accepts the connection you made on {date}. Connect again to continue.',
  'connect.again.rejected':
    '{provider} rejected a request by {mcpServer}, although you connected your account on {date}. Connect again to continue.',
  'connect.again.expired':
    'The connection to {provider} that you made on {date} was for a limited time. Connect again to continue.',
  'connect.again.more_scopes':
    'You connected your {provider} account on {date}. {mcpServer} now needs more than you agreed to then.',

  'scope.count': '{count} permissions',
  'scope.openid': 'recognise your account',
  'scope.profile': 'see your name',
  'scope.email': 'see your email address',
  'scope.offlineAccess': 'stay connected while you are away',

  'leaving.heading': 'You are leaving for {provider}',
  'leaving.text': '{provider} will ask whether {mcpServer} may use your account. Afterwards you come back here.',
  'leaving.continue': 'Continue to {host}',
  'leaving.back': 'Go back',

  'device.heading': 'Enter a code at {provider}',
  'device.text': '{provider} asks you for a short code before {mcpServer} may use your account.',
  'device.safety': 'Continue only if you started this yourself. Never enter a code that someone else sent you.',
  'device.copy': 'Copy this code, or write it down.',
  'device.enter': 'Enter it at {provider}, and agree there.',
  'device.return': 'When {provider} says that you are done, come back here.',
  'device.back': 'Go back',
  'device.check': 'I have entered the code',
  'device.notice.not_yet': '{provider} is still waiting for you to enter the code and agree.',
  'device.notice.wait': '{provider} needs a moment. Wait a few seconds, then try again.',
  'device.endsSoon': 'The code stops working {relative}, at {time}.',
  'device.ends': 'The code stops working on {time}.',

  'done.heading': 'Your {provider} account is connected',
  'done.account': 'Account',
  'done.scopes': '{mcpServer} can now',
  'done.connections': 'See or disconnect your accounts at any time',

  'working.heading': 'Your answer is on its way',
  'working.text': 'This takes a few seconds. You do not have to answer again.',
  'working.reload': 'Check again',

  'declined.heading': 'You declined',
  'declined.text': 'Nothing was shared with {mcpServer}.',

  'expired.heading': 'This request has ended',
  'expired.text': 'It was open for a limited time only. If you still need it, go back to {mcpServer} and ask again.',
  'cancelled.heading': 'This request was withdrawn',
  'cancelled.text': '{mcpServer} no longer needs an answer. You can close this window.',
  'failed.heading': 'This request could not be finished',
  'failed.text': 'Something stopped it on the way. Go back to {mcpServer} and ask again.',

  'signIn.heading': 'Sign in to continue',
  'signIn.text': 'An app you use has a question for you. Sign in, so that only you see it.',
  'signIn.connections': 'Then you can see which of your accounts are connected, and disconnect them.',
  'signIn.continue': 'Continue to sign-in',
  'signIn.choose': 'Choose the account that you use for your apps here.',
  'signIn.with': 'Sign in with {name}',
  'signInFailed.heading': 'Sign-in did not work',
  'signInFailed.text': 'The sign-in service did not answer, or it rejected the sign-in. Wait a moment, then try again.',
  'signInFailed.retry': 'Try again',
  'fault.operator':
    'This does not work until the people who run {brand} change something. Give them this number: {reference}',
  'signedOut.heading': 'You are signed out',
  'signedOut.text': 'You can close this window.',

  'connection.users': 'Used by',
  'connection.unused': 'No app any more',

  'me.heading': 'Your connections',
  'me.text': 'The accounts that apps may use, and the questions they have for you.',
  'me.signOut': 'Sign out',
  'me.waiting': 'Waiting for you',
  'me.noneWaiting': 'Nothing is waiting for your answer.',
  'me.open': 'Look at the request',
  'me.connections': 'Connected accounts',
  'me.noConnections': 'You have no connected accounts. When an app needs one, it asks you first.',
  'me.works': 'Works',
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
  'me.usedBy': 'by {mcpServer}',
  'me.usedFor': 'for {tool}, as {mcpServer} says',
  'me.disconnect': 'Disconnect',

  'disconnect.heading': 'Disconnect your {provider} account?',
  'disconnect.consequences': 'What happens then',
  'disconnect.access': '{mcpServers} can no longer use this account.',
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

  'wrongPerson.heading': 'This request is for another account',
  'wrongPerson.text':
    'If you have another account, sign in with it. If someone else sent you this link, close this window. Nothing was shared.',
  'wrongPerson.switchAccount': 'Use another account',
  'wrongBrowser.heading': 'This was started in another browser',
  'wrongBrowser.text': 'To protect you, it was stopped here. Nothing was connected.',
  'wrongBrowser.next':
    'If you started it yourself, go back to your app and ask again. If someone else sent you a link, close this window.',
  'notFound.heading': 'There is nothing here',
  'notFound.text':
    'The link may be incomplete, or no longer in use. Go back to the app that gave it to you and ask for a new one.',

  'error.badRequest.heading': 'This page could not be opened',
  'error.badRequest.text': 'Part of the address is missing or damaged. Open the link in your app again.',
  'error.forbidden.heading': 'This step was stopped',
  'error.forbidden.text':
    'We could not make sure that it came from you. Open the link in your app again and use the buttons on the page.',
  'error.tooManyRequests.heading': 'Too many tries in a short time',
  'error.tooManyRequests.text': 'Wait a minute, then open the link in your app again.',
  'error.unavailable.heading': 'We are not available right now',
  'error.unavailable.text': 'Please wait a few minutes, then open the link in your app again.',
  'error.internal.heading': 'Something went wrong',
  'error.internal.text': 'The error is on our side. Please open the link in your app again.',
  'error.requestId': 'If you ask for help, give this number',
} as const;
