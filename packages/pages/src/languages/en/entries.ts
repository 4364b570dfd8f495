import { noted } from '../message.ts';

/** The texts of typed values: access details and forms. */
export const entries = {
  'fields.note': '{mcpServer} named the fields, not {brand}.',
  'fields.optional': noted('(optional)', 'Follows the name of a field.'),
  'fields.example': 'For example',
  'fields.choose': 'Choose',
  'fields.noAnswer': 'No answer',
  'fields.offset': noted('Time zone of {field}', 'Read by screen readers. {field} is the name of a field.'),
  'fields.offsetShort': 'Time zone',
  'fields.multilineSecret': 'Paste it whole, with its first and its last line. It is shown as dots.',
  'fields.check': noted('Please check: {page}', 'Title of the page after a mistake; {page} is its usual title.'),
  'fields.invalid': 'Nothing was sent yet. Please look again at the marked fields.',
  'fields.lookAgain': noted('Please look again at', 'Above links to fields.'),
  'fields.secretsGone': 'For your safety, the hidden fields are empty. Fill them in again.',
  'fields.termsChanged': 'Nothing was sent. The request has changed. Please look at it again, then decide.',

  'hint.length': { plural: 'max', one: '{min} to {max} character.', other: '{min} to {max} characters.' },
  'hint.minLength': { plural: 'min', one: '{min} character or more.', other: '{min} characters or more.' },
  'hint.maxLength': { plural: 'max', one: '{max} character at most.', other: '{max} characters at most.' },
  'hint.range': noted('From {min} to {max}.', 'Both are numbers as one types them.'),
  'hint.minimum': '{min} or more.',
  'hint.maximum': '{max} or less.',
  'hint.items': { plural: 'max', one: 'Choose {min} to {max}.', other: 'Choose {min} to {max}.' },
  'hint.exactItems': { plural: 'min', one: 'Choose {min}.', other: 'Choose {min}.' },
  'hint.minItems': { plural: 'min', one: 'Choose {min} or more.', other: 'Choose {min} or more.' },
  'hint.maxItems': { plural: 'max', one: 'Choose {max} at most.', other: 'Choose {max} at most.' },

  'fault.missing': 'This is still empty. Please fill it in.',
  'fault.missingChoice': 'Please choose one.',
  'fault.number': 'This is not a number. It should look like {example}.',
  'fault.ambiguous': noted(
    'This could be {whole} or {decimal}. Please enter one of them in this form.',
    'Both are numbers: 1500 and 1.5.',
  ),
  'fault.integer': 'This is not a whole number. Use digits only, such as {example}.',
  'fault.too_short': {
    plural: 'min',
    one: 'This is too short. It takes {min} character or more.',
    other: 'This is too short. It takes {min} characters or more.',
  },
  'fault.too_long': {
    plural: 'max',
    one: 'This is too long. It takes {max} character at most.',
    other: 'This is too long. It takes {max} characters at most.',
  },
  'fault.email': 'This is not an email address. It should look like {example}.',
  'fault.uri': 'This is not a complete address. It should look like {example}.',
  'fault.date': 'This date does not exist.',
  'fault.date-time': 'This date and time do not exist.',
  'fault.minimum': 'This is too low. It takes {min} or more.',
  'fault.maximum': 'This is too high. It takes {max} or less.',
  'fault.not_an_option': 'Please choose from the list.',
  'fault.too_few': {
    plural: 'min',
    one: 'You chose too few. Choose {min} or more.',
    other: 'You chose too few. Choose {min} or more.',
  },
  'fault.too_many': {
    plural: 'max',
    one: 'You chose too many. Choose {max} at most.',
    other: 'You chose too many. Choose {max} at most.',
  },
  'fault.pattern': 'This does not look right. Check that it is complete, and that nothing else was copied with it.',
  'fault.otherForm': 'This is not in the right format. Check it for missing or extra characters.',
  'fault.unchecked': 'This could not be checked just now. Wait a moment, then send it again, or decline.',
  'fault.other': 'This cannot be used. Please enter it again.',

  'credential.heading': noted(
    '{mcpServer} asks you for access details',
    'Access details are an API key, a password or the like, for another service.',
  ),
  'credential.once':
    '{brand} gives them to {mcpServer} once, and to no one else: not to the app you came from, and not to its AI.',
  'credential.lasting':
    '{brand} keeps them locked away until you delete them, and gives them to {mcpServer} when it needs them. No one else gets them: not the app you came from, and not its AI.',
  'credential.replaces':
    '{mcpServer} reports that the access details you entered before were rejected. The new ones replace them.',
  'credential.checked': noted(
    '{brand} tries them out at {host} first.',
    '{host} is a host name. The gateway tests there whether the access details are valid.',
  ),
  'credential.send': 'Send',
  'credential.save': 'Save',
  'credential.reassurance': 'Nothing is shared if you decline.',
  'credential.safety': 'Never enter the password that you use to sign in here.',
  'credential.notice.rejected':
    '{host} did not accept what you entered, and nothing was kept. Check it and enter it again, or decline.',
  'credential.notice.rejectedUnnamed':
    'What you entered was not accepted, and nothing was kept. Check it and enter it again, or decline.',
  'credential.notice.unavailable':
    '{host} did not answer, so what you entered could not be tried out. Nothing was kept. Wait a moment, then enter it again.',
  'credential.notice.unavailableUnnamed':
    'What you entered could not be tried out just now. Nothing was kept. Wait a moment, then enter it again.',

  'credentialDone.headingOnce': 'Your access details are sent',
  'credentialDone.headingLasting': 'Your access details are saved',
  'credentialDone.asked': 'Asked for',
  'credentialDone.once': '{mcpServer} gets them once and can continue.',
  'credentialDone.lasting': '{mcpServer} can continue, and can use them again until you delete them.',
  'credentialDone.manage': 'See or delete what you saved at any time',

  'form.heading': '{mcpServer} asks you a few questions',
  'form.headingOne': '{mcpServer} asks you a question',
  'form.questions': noted(
    { plural: 'count', one: 'Question', other: 'Questions' },
    'Heading above the fields, which have names of their own. {count} is the number of fields.',
  ),
  'form.lead': 'Your answer goes to {mcpServer}. It does not pass through the app you came from.',
  'form.leadSecret':
    '{brand} gives your answer to {mcpServer} once, and to no one else: not to the app you came from, and not to its AI.',
  'form.send': 'Send',
  'form.yes': 'Yes',
  'form.no': 'No',
  'form.reassurance': 'Nothing is shared if you decline.',
  'form.safety': 'Do not enter passwords, keys or card numbers here.',

  'formDone.heading': 'You answered',
  'formDone.text': '{mcpServer} can continue.',
} as const;
