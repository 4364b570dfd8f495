/** Sample views of credentials and passkeys, with ordinary and extreme content. */
import type { CredentialFieldView } from '../field-views.ts';
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
