import { noted } from '../message.ts';

/** The texts of what every page has. */
export const common = {
  'layout.help': 'Help',
  'layout.privacy': 'Privacy',
  'layout.terms': 'Terms',
  'layout.language': noted('Language:', 'Read by screen readers before the name of the language of the page.'),
  'layout.passkeysChanged':
    'Your passkeys changed on {time}: one was added or removed. If that was not you, tell {brand} now.',
  'layout.seePasskeys': 'See your passkeys',

  'link.open': 'Open {host}',
  'link.newTab': noted('(in a new tab)', 'Read by screen readers after the name of a link.'),

  'asker.label': 'Who is asking',

  'facts.destination': noted('You will continue at', 'Label before a host name such as github.com.'),
  'facts.person': 'Signed in as',
  'facts.personHost': noted('with {host}', 'Follows the name of the account: Anna Berg, with login.example.com.'),

  'head.claimBoth': noted(
    'says it was started in “{mcpClient}”, for “{tool}”',
    'Follows the host of the app: issues.example.com · says it was started in “Editor”, for “create_issue”. Only a claim of the app.',
  ),
  'head.claimClient': 'says it was started in “{mcpClient}”',
  'head.claimTool': 'says it is for “{tool}”',
  'head.step': noted('Step {step} of {steps}', 'Above the heading of a page in a series.'),

  'match.text': noted(
    'If your app shows a code, it must be this one.',
    'Beside the match code, a short code such as K7-42. Not every app shows one.',
  ),
  'match.other': noted('Another code? Decline.', 'If the app shows another code. “Decline” is the button of the page.'),

  'words.of': noted(
    'The words of {mcpServer}, not of {brand}',
    'Below a quotation. {brand} is the operator of this site.',
  ),

  'person.switch': noted(
    'Switch',
    'A short link beside the account of the user. Followed by person.switchWhat for screen readers.',
  ),
  'person.switchWhat': 'account',

  'decision.label': 'Your decision',
  'decision.decline': 'Decline',
  'decision.endsSoon': noted(
    'This request ends {relative}, at {time}.',
    '{relative} is a time span as the language writes it: in 10 minutes. {time} is a time of day.',
  ),
  'decision.ends': noted('This request ends on {time}.', '{time} is a date with a time of day.'),

  'next.close': 'Close this tab and return to the app you came from.',
  'next.closeNamed': 'Close this tab and return to the app you came from (it calls itself “{mcpClient}”).',
  'next.returning': 'You return to {host} in three seconds.',
  'next.stay': noted('Stay here', 'A button. It stops the automatic return to another site.'),
  'next.return': noted('Go back to {mcpServer}', 'A button.'),

  'fault.operator': noted(
    'This does not work until the people who run {brand} change something. Give them this number: {reference}',
    '{reference} is a long identifier at the end of the sentence.',
  ),

  'live.show': 'Show',
  'live.hide': 'Hide',
  'live.copy': 'Copy',
  'live.copied': 'Copied',
  'live.ended': 'This request has ended.',
  'live.see': 'See how it ended',
  'live.timeUp': 'The time is up.',
} as const;
