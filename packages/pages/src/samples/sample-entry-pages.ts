/** All variants of the pages for forms, credentials and passkeys. */
import { credentialPage } from '../pages/credential-page.ts';
import { credentialDeletedPage, deleteCredentialPage } from '../pages/delete-credential-pages.ts';
import { credentialDonePage, formDonePage } from '../pages/entered-pages.ts';
import { formPage } from '../pages/form-page.ts';
import { mePage } from '../pages/me-page.ts';
import { addPasskeyPage, passkeyRemovedPage, removePasskeyPage } from '../pages/passkey-change-pages.ts';
import type { PageContext } from '../views.ts';
import {
  addPasskey,
  basicCredential,
  deleteCredential,
  extremeCredential,
  extremeSaved,
  faultyCredential,
  keyCredential,
  removePasskey,
  sampleCredential,
  samplePasskeys,
  sampleSaved,
  sampleWaiting,
} from './sample-entry-views.ts';
import { extremeForm, extremeYesNoForm, faultyForm, sampleForm, secretForm, yesNoForm } from './sample-form-views.ts';
import { belowMe, longMcpServer, longWord, sampleMcpServer, sampleMe } from './sample-views.ts';

const mcpServer = sampleMcpServer;
const returnHref = 'https://issues.northwind.example/back';

export const sampleEntryPages: Readonly<Record<string, (context: PageContext) => string>> = {
  credential: context => credentialPage(context, sampleCredential),
  'credential-basic': context => credentialPage(context, basicCredential),
  'credential-multiline': context => credentialPage(context, keyCredential),
  'credential-loopback': context => {
    const { person: _person, switchAccountAction: _action, message: _message, ...view } = sampleCredential;
    return credentialPage(context, view);
  },
  'credential-rejected': context => credentialPage(context, { ...basicCredential, notice: 'credential_rejected' }),
  'credential-rejected-unnamed': context =>
    credentialPage(context, { ...sampleCredential, notice: 'credential_rejected' }),
  'credential-unavailable': context => credentialPage(context, { ...basicCredential, notice: 'check_unavailable' }),
  'credential-unavailable-unnamed': context =>
    credentialPage(context, { ...sampleCredential, notice: 'check_unavailable' }),
  'credential-changed': context => credentialPage(context, { ...sampleCredential, notice: 'terms_changed' }),
  'credential-faults': context => credentialPage(context, faultyCredential),
  'credential-extreme': context => credentialPage(context, { ...extremeCredential, notice: 'fields_invalid' }),
  'credential-done': context =>
    credentialDonePage(context, {
      mcpServer,
      title: 'API key of Acme',
      lasting: true,
      returnHref,
      connectionsHref: '/me',
    }),
  'credential-done-once': context =>
    credentialDonePage(context, { mcpServer, title: 'API key of Acme', lasting: false, connectionsHref: '/me' }),
  'credential-done-extreme': context =>
    credentialDonePage(context, { mcpServer: longMcpServer, title: longWord, lasting: true, connectionsHref: '/me' }),
  form: context => formPage(context, sampleForm),
  'form-one': context => {
    const { title: _title, ...form } = sampleForm.form;
    return formPage(context, { ...sampleForm, form: { ...form, fields: form.fields.slice(0, 1) } });
  },
  'form-yes-no': context => formPage(context, yesNoForm),
  'form-yes-no-extreme': context => formPage(context, extremeYesNoForm),
  'form-faults': context => formPage(context, faultyForm),
  'form-secret': context => formPage(context, secretForm),
  'form-secret-faults': context => formPage(context, { ...secretForm, notice: 'fields_invalid' }),
  'form-changed': context => formPage(context, { ...sampleForm, notice: 'terms_changed' }),
  'form-empty': context => formPage(context, { ...sampleForm, form: { fields: [] } }),
  'form-extreme': context => formPage(context, extremeForm),
  'form-done': context => formDonePage(context, { mcpServer, returnHref }),
  'form-done-plain': context => formDonePage(context, { mcpServer }),
  'me-all': context =>
    mePage(context, {
      ...sampleMe,
      waiting: sampleMe.waiting.flatMap(waiting => [waiting, ...sampleWaiting.map(about => ({ ...waiting, about }))]),
      credentials: [sampleSaved, { ...sampleSaved, title: 'Deploy key of northwind/website', mcpServers: [] }],
      passkeys: samplePasskeys,
      addPasskeyHref: '/me/passkeys/add',
    }),
  'me-all-extreme': context =>
    mePage(context, {
      waiting: [],
      connections: [],
      credentials: [extremeSaved],
      passkeys: [
        {
          label: longWord,
          addedAt: new Date('2026-03-04T14:20:00Z'),
          renameHref: '/me/passkeys/1/rename',
          removeHref: '/me/passkeys/1',
        },
      ],
      ...belowMe,
    }),
  'delete-credential': context => deleteCredentialPage(context, deleteCredential),
  'delete-credential-extreme': context =>
    deleteCredentialPage(context, { ...deleteCredential, ...extremeSaved, mcpServers: [longMcpServer, mcpServer] }),
  'credential-deleted': context => credentialDeletedPage(context, { ...sampleSaved, backHref: '/me' }),
  'credential-deleted-unused': context =>
    credentialDeletedPage(context, { title: longWord, mcpServers: [], backHref: '/me' }),
  'passkey-remove': context => removePasskeyPage(context, removePasskey),
  'passkey-remove-failed': context => removePasskeyPage(context, { ...removePasskey, notice: 'failed' }),
  'passkey-remove-extreme': context => removePasskeyPage(context, { ...removePasskey, label: longWord, isLast: false }),
  'passkey-permit': context => addPasskeyPage(context, addPasskey),
  'passkey-permit-failed': context => addPasskeyPage(context, { ...addPasskey, notice: 'failed' }),
  'passkey-add': context => addPasskeyPage(context, { ...addPasskey, mode: 'register' }),
  'passkey-add-failed': context => addPasskeyPage(context, { ...addPasskey, notice: 'not_added' }),
  'passkey-removed': context => passkeyRemovedPage(context, { label: 'Phone of Ada', backHref: '/me' }),
};
