import { noted } from '../message.ts';

/** The texts of connecting an account. */
export const authorization = {
  'connect.heading': noted(
    '{mcpServer} wants to use your {provider} account',
    '{mcpServer} is the name of an app, {provider} of a service: Issue Tracker wants to use your GitHub account.',
  ),
  'connect.resource': 'The access is for',
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
  'connect.again.refused': noted(
    '{provider} no longer accepts the connection you made on {date}. Connect again to continue.',
    '{date} is a day, such as 3 March 2026.',
  ),
  'connect.again.rejected':
    '{provider} rejected a request by {mcpServer}, although you connected your account on {date}. Connect again to continue.',
  'connect.again.expired':
    'The connection to {provider} that you made on {date} was for a limited time. Connect again to continue.',
  'connect.again.more_scopes':
    'You connected your {provider} account on {date}. {mcpServer} now needs more than you agreed to then.',

  'connect.continue': noted('Continue to {host}', 'A button. {host} is a host name such as github.com.'),

  'risk.summary': noted('In short', 'Read by screen readers before the numbers of permissions by risk.'),
  'risk.delete': noted('It could delete', 'Heading above permissions to delete something; “it” is the app.'),
  'risk.change': noted('It could change', 'Heading above permissions to change something.'),
  'risk.other': noted(
    'It could do this',
    'Heading above permissions of which it is unknown whether they change something.',
  ),
  'risk.see': noted('It could see', 'Heading above permissions to read something.'),
  'risk.deletes': noted('Delete: {count}', 'The number of permissions to delete something, in a small label.'),
  'risk.changes': 'Change: {count}',
  'risk.others': 'Other: {count}',
  'risk.sees': 'See: {count}',
  'risk.new': noted('New in this request', 'Heading above the permissions that the user has not allowed before.'),
  'risk.known': noted('You already allowed', 'Heading above permissions, each of which is a text of its own.'),
  'risk.more': noted('{count} more', 'Opens the rest of a list of permissions.'),

  'scope.count': { plural: 'count', one: '{count} permission', other: '{count} permissions' },
  'scope.openid': 'recognise your account',
  'scope.profile': 'see your name',
  'scope.email': 'see your email address',
  'scope.offlineAccess': 'stay connected while you are away',

  'leaving.heading': 'You are leaving for {provider}',
  'leaving.text': '{provider} will ask whether {mcpServer} may use your account. Afterwards you come back here.',
  'leaving.continue': noted('Continue to {host}', 'A button. {host} is a host name such as github.com.'),
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
  'device.endsSoon': noted(
    'The code stops working {relative}, at {time}.',
    '{relative} is a time span as the language writes it: in 10 minutes. {time} is a time of day.',
  ),
  'device.ends': 'The code stops working on {time}.',

  'done.heading': 'Your {provider} account is connected',
  'done.account': 'Account',
  'done.scopes': '{mcpServer} can now',
  'done.connections': 'See or disconnect your accounts at any time',
} as const;
