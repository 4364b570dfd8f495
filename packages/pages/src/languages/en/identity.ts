import { noted } from '../message.ts';

/** The texts of signing in and out, and pages for another person or browser. */
export const identity = {
  'signIn.heading': noted('Sign in to continue', 'Seen before anything else: says nothing of who asks or why.'),
  'signIn.text': 'An app you use has a question for you. Sign in, so that only you see it.',
  'signIn.connections': 'Then you can see which of your accounts are connected, and disconnect them.',
  'signIn.continue': 'Continue to sign-in',
  'signIn.choose': 'Choose the account that you use for your apps here.',
  'signIn.with': noted('Sign in with {name}', 'A button. {name} is the name of a sign-in service, such as Northwind.'),

  'signInFailed.heading': 'Sign-in did not work',
  'signInFailed.text': 'The sign-in service did not answer, or it rejected the sign-in. Wait a moment, then try again.',
  'signInFailed.retry': 'Try again',

  'signInAgain.title': 'Sign in again',
  'signInAgain.heading': 'Sign in again in {app}',
  'signInAgain.text': noted(
    'This step needs a recent sign-in. Sign in again in {app}, open a link from there, and come back to this page within five minutes.',
    '{app} is the name of the app that signed the user in.',
  ),

  'signedOut.heading': 'You are signed out',
  'signedOut.text': 'You can close this window.',
  'signedOut.elsewhere': noted(
    'You may still be signed in at {host}.',
    '{host} is the host name of the sign-in service, such as id.example.com.',
  ),
  'signedOut.there': 'Sign out there too',

  'wrongPerson.heading': 'This request is for another account',
  'wrongPerson.text':
    'If you have another account, sign in with it. If someone else sent you this link, close this window. Nothing was shared.',
  'wrongPerson.switchAccount': 'Use another account',

  'wrongBrowser.heading': 'This was started in another browser',
  'wrongBrowser.text': 'To protect you, it was stopped here. Nothing was connected.',
  'wrongBrowser.next':
    'If you started it yourself, go back to your app and ask again. If someone else sent you a link, close this window.',

  'noRequest.heading': 'No request was found for this answer',
  'noRequest.text':
    'The service that sent you back did not say which request its answer belongs to, or the request has ended. Nothing was connected or declined.',
  'noRequest.next': 'Open the request again to go on or to decline.',
  'noRequest.nextInApp': 'Go back to your app and open the link again.',
  'noRequest.open': 'Open the request',
} as const;
