import { noted } from '../message.ts';

/** The texts of how an elicitation ends, and errors. */
export const endings = {
  'working.heading': 'Your answer is on its way',
  'working.text': 'This takes a few seconds. You do not have to answer again.',
  'working.reload': noted('Check again', 'A button.'),

  'declined.heading': 'You declined',
  'declined.text': 'Nothing was shared with {mcpServer}.',

  'expired.heading': 'This request has ended',
  'expired.text':
    'It was open for a limited time only. If you still need it, go back to the app you came from and ask again.',

  'cancelled.heading': 'This request was withdrawn',
  'cancelled.text': '{mcpServer} no longer needs an answer. You can close this window.',

  'failed.heading': 'This request could not be finished',
  'failed.text': 'Something stopped it on the way. Go back to the app you came from and ask again.',

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
  'error.requestId': noted('If you ask for help, give this number', 'Label before a long identifier.'),
} as const;
