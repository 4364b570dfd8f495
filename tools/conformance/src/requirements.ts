import type { Revision } from './revision.ts';

export interface SpecReference {
  readonly id: string;
  readonly url: string;
}

interface Requirement {
  /** The key word of the specification. MAY marks a feature that is checked only where it is used. */
  readonly level: 'MUST' | 'SHOULD' | 'MAY';
  readonly description: string;
  readonly references: Readonly<Partial<Record<Revision, readonly SpecReference[]>>>;
}

const SITE = 'https://modelcontextprotocol.io/specification';
const cite = (id: string, page: string) => (section: string) => ({ id, url: `${SITE}/${page}#${section}` });
const legacy = cite('MCP-2025-11-25-Elicitation', '2025-11-25/client/elicitation');
const modern = cite('MCP-2026-07-28-Elicitation', '2026-07-28/client/elicitation');
const mrtr = cite('MCP-2026-07-28-MRTR', '2026-07-28/basic/patterns/mrtr');
const basic = cite('MCP-2026-07-28-Basic', '2026-07-28/basic');

const inBoth = (section: string, modernSection = section) => ({
  '2025-11-25': [legacy(section)],
  '2026-07-28': [modern(modernSection)],
});
const inLegacy = (section: string) => ({ '2025-11-25': [legacy(section)] });
const inMrtr = (section: string) => ({ '2026-07-28': [mrtr(section)] });

const PUSH = 'url-mode-elicitation-requests';
const ERROR = 'url-elicitation-required-error';
const NOTICE = 'completion-notifications-for-url-mode-elicitation';
const SERVER_MRTR = 'server-requirements-basic-workflow';
const CLIENT_MRTR = 'client-requirements-basic-workflow';

const must = (description: string, references: Requirement['references']) =>
  ({ level: 'MUST', description, references }) as const satisfies Requirement;
const should = (description: string, references: Requirement['references']) =>
  ({ level: 'SHOULD', description, references }) as const satisfies Requirement;
const may = (description: string, references: Requirement['references']) =>
  ({ level: 'MAY', description, references }) as const satisfies Requirement;

/** Every check of the suite. The ids start with the number of the proposal that introduced the requirement. */
export const requirements = {
  'sep-1036-url-mode-asked': must('The tool call asks a client that declares url mode, in url mode', inBoth(PUSH)),
  'sep-1036-mode-declared-only': must(
    'Servers MUST NOT send elicitation requests with modes that the client does not support; an empty object means form mode only',
    inBoth('capabilities'),
  ),
  'sep-1036-required-error-shape': must(
    'The data of error -32042 lists the required elicitations, each with mode url, elicitationId, url and message',
    inLegacy(ERROR),
  ),
  'sep-1036-create-shape': must(
    'elicitation/create in url mode has mode, message and url; in revision 2025-11-25 also elicitationId',
    inBoth(PUSH),
  ),
  'sep-1036-elicitation-id-unique': must('An elicitationId identifies one elicitation and one URL', inLegacy(PUSH)),
  'sep-1036-url-valid': must('The url parameter MUST contain a valid URL', inBoth(PUSH)),
  'sep-1036-url-https': should(
    'Servers SHOULD use HTTPS URLs outside development; loopback counts as development',
    inBoth('safe-url-handling'),
  ),
  'sep-1036-url-without-user-data': must(
    'Servers MUST NOT include sensitive information about the user in the URL, credentials among it',
    inBoth('safe-url-handling'),
  ),
  'sep-1036-url-not-pre-authenticated': must(
    'Servers MUST NOT provide a URL that is pre-authenticated to access a protected resource',
    inBoth('safe-url-handling'),
  ),
  'sep-1036-url-without-session-id': should(
    'The URL does not carry the MCP session id: state is bound to users, and not to session ids alone',
    inLegacy('statefulness'),
  ),
  'sep-1036-client-refusal-handled': should(
    'The server handles decline and cancel of the client: the call gets a result or a JSON-RPC error other than -32603',
    inBoth('response-actions'),
  ),
  'sep-1036-accept-is-consent': must(
    'The action accept means consent to open the URL. It does not complete the interaction',
    inBoth('response-actions', 'response-actions'),
  ),
  'sep-1036-get-completes-nothing': must(
    'Requests with GET and HEAD by somebody without a session at the server complete nothing: the server verifies who opened the URL',
    inBoth('phishing'),
  ),
  'sep-1036-anonymous-completes-nothing': must(
    'A person who has not signed in cannot complete the interaction',
    inBoth('phishing'),
  ),
  'sep-1036-same-user': must(
    'The server MUST ensure that the user who started the elicitation is the user who completes it (phishing)',
    inBoth('phishing'),
  ),
  'sep-1036-completes': must(
    'After the user has completed the interaction, the call succeeds',
    inBoth('url-mode-flow'),
  ),
  'sep-1036-required-error-justified': must(
    'Servers MUST NOT return -32042 except when an elicitation is required: not for one that the user has completed',
    inLegacy(ERROR),
  ),
  'sep-1036-completion-known-id': must(
    'A completion notification includes the elicitationId of the original request',
    inLegacy(NOTICE),
  ),
  'sep-1036-completion-initiator-only': must(
    'A completion notification goes only to the client that initiated the elicitation',
    inLegacy(NOTICE),
  ),
  'sep-1036-completion-truthful': must(
    'A completion notification is sent when the interaction is completed, not before',
    inLegacy(NOTICE),
  ),
  'sep-1036-completion-once': should('An elicitation is reported as completed once', inLegacy(NOTICE)),
  'sep-2322-no-required-error': must('Implementations of revision 2026-07-28 MUST NOT emit -32042', {
    '2026-07-28': [basic('error-codes')],
  }),
  'sep-2322-missing-capability-error': must(
    'A request refused for a missing capability gets -32021 with data.requiredCapabilities, and status 400',
    { '2026-07-28': [basic('error-codes')] },
  ),
  'sep-2322-input-required-shape': must(
    'An input_required result includes inputRequests or requestState; here an elicitation/create in url mode',
    inMrtr(SERVER_MRTR),
  ),
  'sep-2322-state-without-user-data': must(
    'The requestState shows no credential and no personal data of the user to the client',
    inMrtr('security-considerations'),
  ),
  'sep-2322-missing-response': should(
    'A retry without the responses is asked again instead of failing',
    inMrtr('error-handling'),
  ),
  'sep-2322-unknown-response': should(
    'Responses that the server did not ask for are ignored',
    inMrtr('error-handling'),
  ),
  'sep-2322-malformed-response': should(
    'Malformed inputResponses get a JSON-RPC error, or are asked for again',
    inMrtr('error-handling'),
  ),
  'sep-2322-tampered-state': must(
    'The server MUST reject a requestState that was changed, with a JSON-RPC error',
    inMrtr('security-considerations'),
  ),
  'sep-2322-state-of-other-user': should(
    'The server rejects a requestState that was issued to another user',
    inMrtr('security-considerations'),
  ),
  'sep-2322-state-of-other-request': should(
    'The server rejects a requestState that was issued for other arguments',
    inMrtr('security-considerations'),
  ),
  'sep-2322-replayed-state': must(
    'A requestState that was used is answered with a result or a JSON-RPC error, and another user gets nothing from it',
    inMrtr('security-considerations'),
  ),
  'sep-1036-client-undeclared-mode': must(
    'Clients MUST answer -32602 to an elicitation with a mode that they did not declare',
    { '2025-11-25': [legacy('error-handling')] },
  ),
  'sep-1036-client-no-prefetch': must(
    'Clients MUST NOT fetch the URL or its metadata by themselves',
    inBoth('safe-url-handling'),
  ),
  'sep-1036-client-consent': must(
    'Clients MUST NOT open the URL without explicit consent of the user',
    inBoth('safe-url-handling'),
  ),
  'sep-1036-client-shows-url': must(
    'Clients MUST show the full URL, and so its domain, to the user before they open it',
    inBoth('safe-url-handling'),
  ),
  'sep-1036-client-opens-exact-url': must('The client opens exactly the URL that the server sent', inBoth(PUSH)),
  'sep-1036-client-response-shape': must(
    'The response has one of the three actions, and in url mode no content',
    inBoth('response-actions'),
  ),
  'sep-1036-client-action': must('The response of the client is the decision of the user', inBoth('response-actions')),
  'sep-1036-client-unknown-completion': must(
    'Clients MUST ignore completion notifications for unknown and already completed ids',
    inLegacy(NOTICE),
  ),
  'sep-1036-client-retries': may('After completion, the client retries the call that got -32042', inLegacy(ERROR)),
  'sep-2322-client-new-id': must('The retry has a new JSON-RPC id', inMrtr(CLIENT_MRTR)),
  'sep-2322-client-state-exact': must('The client returns the requestState unchanged', inMrtr(CLIENT_MRTR)),
  'sep-2322-client-response-key': must(
    'inputResponses has the keys of inputRequests, and no key of an earlier round',
    inMrtr(CLIENT_MRTR),
  ),
} as const satisfies Record<string, Requirement>;

export type RequirementId = keyof typeof requirements;
