/** Sample views of forms, credentials and passkeys, with ordinary and extreme content. */
import type { CredentialFieldView, FormFieldView } from '../field-views.ts';
import type { CredentialItemView, PasskeyItemView } from '../me-entries.ts';
import { longMcpServer, longWord, releaseNotes, sampleConnect, sampleMcpServer } from './sample-views.ts';

const { authorization: _authorization, ...decision } = sampleConnect;

const apiKey: CredentialFieldView = {
  name: 'key',
  label: { en: 'API key', de: 'API-Schlüssel' },
  secret: true,
  help: {
    en: 'Create one at acme.example under Settings, Developer.',
    de: 'Legen Sie ihn auf acme.example unter Einstellungen, Entwickler an.',
  },
  example: 'acme_live_4f9c…',
  maxLength: 100,
};

export const sampleCredential = {
  ...decision,
  shown: 'shown-value',
  message: {
    en: 'I need this to read the orders that you asked about.',
    de: 'Ich brauche ihn, um die Bestellungen zu lesen, nach denen Sie gefragt haben.',
  },
  credential: {
    title: { en: 'API key of Acme', de: 'API-Schlüssel von Acme' },
    fields: [apiKey],
    lasting: false,
    replaces: false,
  },
};

export const basicCredential = {
  ...sampleCredential,
  credential: {
    title: { en: 'Sign-in of Fabrikam Mail', de: 'Anmeldung bei Fabrikam Mail' },
    fields: [
      {
        name: 'username',
        label: { en: 'User name', de: 'Benutzername' },
        secret: false,
        maxLength: 100,
        value: 'ada.okafor',
      },
      {
        name: 'password',
        label: { en: 'App password', de: 'App-Passwort' },
        secret: true,
        help: { en: 'Not the one you read mail with.', de: 'Nicht das, mit dem Sie Ihre E-Mails lesen.' },
        maxLength: 100,
      },
    ] satisfies CredentialFieldView[],
    lasting: true,
    replaces: true,
    checkedAt: 'imap.fabrikam.example',
  },
};

export const faultyCredential = {
  ...basicCredential,
  notice: 'fields_invalid' as const,
  credential: {
    ...basicCredential.credential,
    fields: [
      {
        name: 'username',
        label: { en: 'User name', de: 'Benutzername' },
        secret: false,
        maxLength: 100,
        value: '',
        fault: 'missing',
      },
      {
        name: 'password',
        label: { en: 'App password', de: 'App-Passwort' },
        secret: true,
        maxLength: 100,
        fault: 'pattern',
      },
    ] satisfies CredentialFieldView[],
  },
};

export const keyCredential = {
  ...sampleCredential,
  credential: {
    title: 'Deploy key of northwind/website',
    fields: [
      { name: 'keyId', label: 'Key number', secret: false, maxLength: 20, example: '1203944' },
      { name: 'privateKey', label: 'Private key', secret: true, multiline: true, maxLength: 4096 },
    ] satisfies CredentialFieldView[],
    lasting: true,
    replaces: false,
  },
};

export const extremeCredential = {
  ...sampleCredential,
  mcpServer: longMcpServer,
  credential: {
    title: longWord,
    fields: [
      { name: 'a', label: longWord, secret: true, help: longWord, example: longWord, maxLength: 10, fault: 'pattern' },
      {
        name: `b${'-x'.repeat(19)}`,
        label: longWord,
        secret: false,
        maxLength: 10,
        value: longWord,
        fault: 'too_long',
      },
      { name: 'c', label: 'مرحبا', secret: true, multiline: true, help: longWord, maxLength: 10, fault: 'missing' },
    ] satisfies CredentialFieldView[],
    lasting: true,
    replaces: true,
    checkedAt: longMcpServer.host,
  },
};

const colours = [
  { value: 'red', title: { en: 'Red', de: 'Rot' } },
  { value: 'green', title: { en: 'Green', de: 'Grün' } },
  { value: 'blue', title: { en: 'Blue', de: 'Blau' } },
];
const cities = ['Accra', 'Bergen', 'Cusco', 'Da Nang', 'Esbjerg', 'Fukuoka', 'Galway'].map(title => ({
  value: title,
  title,
}));

const travelFields = [
  {
    control: 'text',
    name: 'name',
    label: { en: 'Full name', de: 'Vor- und Nachname' },
    required: true,
    minLength: 2,
    maxLength: 80,
  },
  {
    control: 'text',
    name: 'email',
    label: { en: 'Email', de: 'E-Mail' },
    description: {
      en: 'The tickets are sent to this address.',
      de: 'Die Fahrkarten gehen an diese Adresse.',
    },
    required: true,
    format: 'email',
    value: 'ada@northwind.example',
  },
  {
    control: 'integer',
    name: 'travellers',
    label: { en: 'Travellers', de: 'Reisende' },
    required: true,
    minimum: 1,
    maximum: 8,
    value: '2',
  },
  {
    control: 'text',
    name: 'leaving',
    label: { en: 'Day of departure', de: 'Tag der Abreise' },
    required: true,
    format: 'date',
  },
  {
    control: 'text',
    name: 'arrival',
    label: { en: 'Latest arrival', de: 'Späteste Ankunft' },
    required: false,
    format: 'date-time',
    value: ['2026-03-14T18:30', '+01:00'],
  },
  {
    control: 'select',
    name: 'class',
    label: { en: 'Seat', de: 'Sitzplatz' },
    required: true,
    options: colours,
    value: 'green',
  },
  { control: 'select', name: 'city', label: { en: 'City', de: 'Stadt' }, required: true, options: cities },
  {
    control: 'select',
    name: 'meal',
    label: { en: 'Meal', de: 'Mahlzeit' },
    required: false,
    options: colours.slice(0, 2),
  },
  {
    control: 'multi-select',
    name: 'extras',
    label: { en: 'Extras', de: 'Extras' },
    description: { en: 'Each costs a little more.', de: 'Jedes kostet etwas mehr.' },
    required: true,
    options: colours,
    minItems: 1,
    maxItems: 2,
    values: ['red'],
  },
  {
    control: 'number',
    name: 'budget',
    label: { en: 'Budget in euro', de: 'Budget in Euro' },
    required: false,
    minimum: 0.5,
  },
  {
    control: 'text',
    name: 'page',
    label: { en: 'Web page of the hotel', de: 'Website des Hotels' },
    required: false,
    format: 'uri',
  },
  {
    control: 'text',
    name: 'notes',
    label: { en: 'Notes', de: 'Anmerkungen' },
    required: false,
    maxLength: 1000,
    value: 'First line\nSecond line',
  },
  {
    control: 'boolean',
    name: 'window',
    label: { en: 'I want to sit at the window', de: 'Ich möchte am Fenster sitzen' },
    required: true,
    value: true,
  },
] satisfies FormFieldView[];

export const sampleForm = {
  ...decision,
  shown: 'shown-value',
  message: {
    en: 'I need a few details before I can look for a train.',
    de: 'Ich brauche ein paar Angaben, bevor ich einen Zug suchen kann.',
  },
  requestedBy: { mcpClient: 'Desk Assistant', tool: 'find_train' },
  form: { title: { en: 'Your journey', de: 'Ihre Reise' }, fields: travelFields as readonly FormFieldView[] },
};

export const faultyForm = {
  ...sampleForm,
  notice: 'fields_invalid' as const,
  form: {
    ...sampleForm.form,
    fields: [
      {
        control: 'text',
        name: 'name',
        label: { en: 'Full name', de: 'Vor- und Nachname' },
        required: true,
        minLength: 2,
        fault: 'missing',
      },
      {
        control: 'text',
        name: 'email',
        label: { en: 'Email', de: 'E-Mail' },
        required: true,
        format: 'email',
        value: 'ada at northwind',
        fault: 'format',
      },
      {
        control: 'integer',
        name: 'travellers',
        label: { en: 'Travellers', de: 'Reisende' },
        required: true,
        minimum: 1,
        maximum: 8,
        value: '12',
        fault: 'maximum',
      },
      {
        control: 'number',
        name: 'budget',
        label: { en: 'Budget in euro', de: 'Budget in Euro' },
        required: false,
        value: '1,500',
        fault: 'type',
      },
      {
        control: 'text',
        name: 'arrival',
        label: { en: 'Latest arrival', de: 'Späteste Ankunft' },
        required: false,
        format: 'date-time',
        value: ['', 'Z'],
        fault: 'format',
      },
      {
        control: 'select',
        name: 'class',
        label: { en: 'Seat', de: 'Sitzplatz' },
        required: true,
        options: colours,
        fault: 'missing',
      },
      {
        control: 'select',
        name: 'city',
        label: { en: 'City', de: 'Stadt' },
        required: true,
        options: cities,
        fault: 'missing',
      },
      {
        control: 'multi-select',
        name: 'extras',
        label: { en: 'Extras', de: 'Extras' },
        required: true,
        options: colours,
        maxItems: 2,
        values: ['red', 'green', 'blue'],
        fault: 'too_many',
      },
      {
        control: 'boolean',
        name: 'window',
        label: { en: 'I want to sit at the window', de: 'Ich möchte am Fenster sitzen' },
        required: true,
        fault: 'type',
      },
    ] satisfies FormFieldView[],
  },
};

export const secretForm = {
  ...sampleForm,
  form: {
    fields: [
      { control: 'text', name: 'account', label: 'Account number', required: true, value: '4711' },
      { control: 'text', name: 'pin', label: 'PIN', required: true, secret: true },
      { control: 'text', name: 'key', label: 'Signing key', required: false, secret: true, maxLength: 4000 },
    ] satisfies FormFieldView[],
  },
};

const longOptions = Array.from({ length: 6 }, (_, index) => ({ value: `${index}`, title: `${longWord}${index}` }));

export const extremeForm = {
  ...sampleForm,
  mcpServer: longMcpServer,
  notice: 'fields_invalid' as const,
  form: {
    title: longWord,
    fields: [
      { control: 'text', name: 'a', label: longWord, description: longWord, required: false, fault: 'too_long' },
      { control: 'select', name: 'b', label: longWord, required: false, options: longOptions, fault: 'not_an_option' },
      { control: 'select', name: 'c', label: longWord, required: false, options: longOptions.slice(0, 3) },
      {
        control: 'multi-select',
        name: 'd',
        label: longWord,
        required: false,
        options: longOptions,
        minItems: 6,
        fault: 'too_few',
      },
      { control: 'number', name: 'e', label: longWord, required: false, minimum: -1e300, maximum: 1e-20 },
      { control: 'boolean', name: 'f', label: longWord, description: longWord, required: false },
      {
        control: 'text',
        name: 'g',
        label: longWord,
        required: false,
        format: 'date-time',
        value: ['2026-03-04T14:32:00', '+23:59'],
      },
    ] satisfies FormFieldView[],
  },
};

export const sampleSaved: CredentialItemView = {
  title: { en: 'API key of Acme', de: 'API-Schlüssel von Acme' },
  mcpServers: [sampleMcpServer, releaseNotes],
  fingerprint: '7F3A-91C2',
  savedAt: new Date('2026-01-07T09:05:00Z'),
  replaced: true,
  lastUse: {
    at: new Date('2026-03-04T14:20:00Z'),
    get mcpServerName() {
      return sampleMcpServer.name;
    },
    tool: 'list_orders',
  },
  deleteHref: '/me/credentials/0a.acme',
};

export const extremeSaved: CredentialItemView = {
  title: longWord,
  mcpServers: [longMcpServer],
  fingerprint: '7F3A-91C2-7F3A-91C2-7F3A-91C2-7F3A-91C2',
  savedAt: new Date('2026-01-07T09:05:00Z'),
  lastUse: { at: new Date('2026-03-04T14:20:00Z'), mcpServerName: longWord, tool: longWord },
  deleteHref: '/me/credentials/0a.long',
};

export const samplePasskeys: readonly PasskeyItemView[] = [
  {
    label: 'Phone of Ada',
    addedAt: new Date('2025-12-01T18:00:00Z'),
    lastUsedAt: new Date('2026-02-27T12:11:00Z'),
    renameHref: '/me/passkeys/1/rename',
    removeHref: '/me/passkeys/1',
  },
  {
    label: 'Security key',
    addedAt: new Date('2026-02-02T07:45:00Z'),
    countsFrom: new Date('2026-02-03T07:45:00Z'),
    renameHref: '/me/passkeys/2/rename',
    removeHref: '/me/passkeys/2',
  },
];

export const sampleWaiting = [
  { kind: 'payment', amount: { currency: 'EUR', minorUnits: 4990, decimals: 2 }, payeeName: 'Coffee & Co' },
  {
    kind: 'confirmation',
    title: { en: 'Delete the repository northwind/website', de: 'Das Repository northwind/website löschen' },
  },
  { kind: 'credential', title: { en: 'API key of Acme', de: 'API-Schlüssel von Acme' } },
  { kind: 'form' },
] as const;

export const deleteCredential = {
  ...sampleSaved,
  deleteAction: '/me/credentials/0a.acme/delete',
  keepHref: '/me',
  csrfToken: 'csrf-value',
};

export const removePasskey = {
  label: 'Phone of Ada',
  addedAt: new Date('2025-12-01T18:00:00Z'),
  isLast: true,
  mode: 'assert' as const,
  optionsJson: '{}',
  action: '/me/passkeys/1/remove',
  ceremony: 'ceremony-value',
  keepHref: '/me',
  csrfToken: 'csrf-value',
};

export const addPasskey = {
  mode: 'assert' as const,
  optionsJson: '{}',
  action: '/me/passkeys/add',
  keepHref: '/me',
  csrfToken: 'csrf-value',
  ceremony: 'ceremony-value',
};
