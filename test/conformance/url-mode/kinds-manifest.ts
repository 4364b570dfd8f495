import type { Requirement } from './requirement.ts';

const spec = (page: string) => `https://modelcontextprotocol.io/specification/${page}`;
const LEGACY = spec('2025-11-25/client/elicitation');
const MODERN = spec('2026-07-28/client/elicitation');
const MRTR = spec('2026-07-28/basic/patterns/mrtr');

/** What holds for payments, confirmations, credentials and forms, in both eras and whatever is declared. */
export const kindsManifest: readonly Requirement[] = [
  {
    id: 'url-mode:kinds:no-secret-in-form-mode',
    level: 'MUST NOT',
    text: 'form mode is never used for a credential, a payment, an approval or a form with a secret field',
    spec: `${MODERN}#form-mode-security`,
  },
  {
    id: 'url-mode:kinds:declared-modes-only',
    level: 'MUST NOT',
    text: 'no kind is asked in a mode that the MCP client has not declared; an empty declaration means form mode',
    spec: `${MODERN}#capabilities`,
  },
  {
    id: 'url-mode:kinds:restricted-schema',
    level: 'MUST',
    text: 'what is asked in form mode is of the restricted schema: a flat object of primitives, with message and mode',
    spec: `${MODERN}#requested-schema`,
  },
  {
    id: 'url-mode:kinds:form-answers-are-validated',
    level: 'SHOULD',
    text: 'content that does not fit the schema never reaches the tool: it is asked for once more, then refused',
    spec: `${MODERN}#form-mode-security`,
  },
  {
    id: 'url-mode:kinds:form-answers',
    level: 'MUST',
    text: 'accept, decline and cancel of a form reach the tool as what they are, and open no page',
    spec: `${MODERN}#response-actions`,
  },
  {
    id: 'url-mode:kinds:opaque-url',
    level: 'MUST NOT',
    text: 'the URL of no kind says anything about the user, the terms or the fields',
    spec: `${LEGACY}#safe-url-handling`,
  },
  {
    id: 'url-mode:kinds:secrets-stay-out',
    level: 'MUST NOT',
    text: 'what is typed on the page of a credential or of a form with secrets is in no MCP message in either direction',
    spec: `${MODERN}#form-mode-security`,
  },
  {
    id: 'url-mode:kinds:accept-is-consent-only',
    level: 'MUST',
    text: 'accept of the MCP client approves, pays and enters nothing',
    spec: `${MODERN}#response-actions`,
  },
  {
    id: 'url-mode:kinds:same-person',
    level: 'MUST',
    text: 'another user who opens the URL can neither agree nor decline, and the one it is for still can',
    spec: `${MODERN}#phishing`,
  },
  {
    id: 'url-mode:kinds:endings',
    level: 'MUST',
    text: 'declined, cancelled, expired and failed reach the tool of every kind as what they are',
    spec: `${MODERN}#response-actions`,
  },
  {
    id: 'url-mode:kinds:completion-once',
    level: 'ours',
    text: 'the notice comes once for every kind and every end, after a push as after −32042',
    spec: `${LEGACY}#completion-notifications-for-url-mode-elicitation`,
  },
  {
    id: 'url-mode:kinds:one-redemption',
    level: 'MUST',
    text: 'a spent requestState reads the same result again: nothing is redeemed, charged or asked a second time',
    spec: `${MRTR}#security-considerations`,
  },
  {
    id: 'url-mode:kinds:one-approval-one-call',
    level: 'ours',
    text: 'of two equal calls under way at once each needs an approval of its own',
    spec: `${MODERN}#url-mode-flow`,
  },
];
