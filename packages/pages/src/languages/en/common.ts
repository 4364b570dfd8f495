import { noted } from '../message.ts';

/** The texts of what every page has. */
export const common = {
  'layout.help': 'Help',
  'layout.passkeysChanged':
    'Your passkeys changed on {time}: one was added or removed. If that was not you, tell {brand} now.',
  'layout.seePasskeys': 'See your passkeys',

  'link.open': 'Open {host}',
  'link.newTab': noted('(in a new tab)', 'Read by screen readers after the name of a link.'),

  'asker.label': 'Who is asking',

  'facts.destination': noted('You will continue at', 'Label before a host name such as github.com.'),
  'facts.code': noted(
    'Check the code in your app',
    'Label before the match code, a short code such as K7QX-2M. The same code may stand in the app that sent the link.',
  ),
  'facts.codeHint': 'If your app shows another code, or none, decline.',
  'facts.person': 'Signed in as',
  'facts.personHost': noted('with {host}', 'Follows the name of the account: Anna Berg, with login.example.com.'),
  'facts.switchAccount': 'Not you? Use another account',

  'message.heading': noted('Message from {mcpServer}', '{mcpServer} is the name of an app, such as Issue Tracker.'),
  'message.note': 'Written by {mcpServer}, not by {brand}.',
  'message.fromBoth': noted(
    '{mcpServer} says this is for {tool}, used in {mcpClient}.',
    '{tool} is a function of the app, {mcpClient} the program that the user types into. Both are claims of the app.',
  ),
  'message.fromClient': '{mcpServer} says this was started in {mcpClient}.',
  'message.fromTool': '{mcpServer} says this is for {tool}.',

  'decision.label': 'Your decision',
  'decision.decline': 'Decline',
  'decision.endsSoon': noted(
    'This request ends {relative}, at {time}.',
    '{relative} is a time span as the language writes it: in 10 minutes. {time} is a time of day.',
  ),
  'decision.ends': noted('This request ends on {time}.', '{time} is a date with a time of day.'),

  'next.close': 'You can close this window and go back to {mcpServer}.',
  'next.return': noted('Go back to {mcpServer}', 'A button.'),

  'fault.operator': noted(
    'This does not work until the people who run {brand} change something. Give them this number: {reference}',
    '{reference} is a long identifier at the end of the sentence.',
  ),
} as const;
