import { z } from 'zod';
import {
  accessTokenRequestSchema,
  accessTokenSchema,
  connectionListSchema,
  listConnectionsQuerySchema,
  removedConnectionSchema,
} from './connections.ts';
import {
  credentialIdSchema,
  credentialListSchema,
  credentialValuesSchema,
  listCredentialsQuerySchema,
  readCredentialRequestSchema,
  removedCredentialSchema,
} from './credentials.ts';
import {
  elicitationSchema,
  issueElicitationSchema,
  verifiedElicitationSchema,
  verifyElicitationSchema,
  waitQuerySchema,
} from './elicitations.ts';
import { eventSchema, eventsQuerySchema } from './events.ts';
import { connectionIdSchema, elicitationIdSchema } from './identifiers.ts';
import type { ProblemCode } from './problems.ts';
import { redeemedElicitationSchema, redeemRequestSchema } from './redemption.ts';

/** One call of the contract. The gateway's routes and the OpenAPI document are both made from this list. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** OpenAPI path template. */
  readonly path: string;
  readonly summary: string;
  readonly parameters?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body may be left out. */
  readonly optionalBody?: true;
  readonly idempotent?: true;
  /**
   * Answers with server-sent events that never end (HTML, section 9.2), and goes on after `Last-Event-ID`. The schema of the
   * response is that of the `data` of each event, as JSON.
   */
  readonly streams?: true;
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>;
  /** Problems beyond those that every call can meet. */
  readonly problems: readonly ProblemCode[];
}

const byElicitation = z.strictObject({ elicitationId: elicitationIdSchema });
const byConnection = z.strictObject({ connectionId: connectionIdSchema });
const byCredential = z.strictObject({ credentialId: credentialIdSchema });

export const operations = {
  issueElicitation: {
    method: 'POST',
    path: '/v1/elicitations',
    summary: 'Issue an elicitation, or get the open one, the unredeemed one or what is stored that already answers it.',
    body: issueElicitationSchema,
    idempotent: true,
    responses: {
      200: {
        description:
          'An open elicitation for the same ask; or `completed` where a connection or a lasting credential already serves, or ' +
          'where the user has answered the same ask and the result was not redeemed.',
        schema: elicitationSchema,
      },
      201: { description: 'Issued.', schema: elicitationSchema },
    },
    problems: [
      'kind_not_allowed',
      'provider_not_allowed',
      'issuer_not_allowed',
      'return_url_not_registered',
      'unknown_provider',
      'scope_not_allowed',
      'resource_not_allowed',
      'expected_account_unsupported',
      'processor_not_allowed',
      'currency_not_allowed',
      'amount_over_limit',
      'payment_not_possible',
      'confusable_name',
      'subject_token_invalid',
      'idempotency_in_flight',
      'idempotency_key_reused',
      'too_many_elicitations',
      'quota_exceeded',
      'upstream_unavailable',
      'provider_unavailable',
    ],
  },
  readElicitation: {
    method: 'GET',
    path: '/v1/elicitations/{elicitationId}',
    summary: 'Read an elicitation; with `wait`, answer when its status is terminal or the time is over.',
    parameters: byElicitation,
    query: waitQuerySchema,
    responses: { 200: { description: 'As it stands.', schema: elicitationSchema } },
    problems: ['not_found'],
  },
  cancelElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/cancel',
    summary: 'Cancel. A cancelled elicitation is answered again as it is.',
    parameters: byElicitation,
    responses: { 200: { description: 'Cancelled.', schema: elicitationSchema } },
    problems: ['not_found', 'already_ended', 'illegal_transition', 'payment_in_progress', 'upstream_unavailable'],
  },
  redeemElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/redeem',
    summary: 'Take the result of a completed elicitation, once.',
    parameters: byElicitation,
    body: redeemRequestSchema,
    optionalBody: true,
    idempotent: true,
    responses: { 200: { description: 'Yours; nobody else gets it.', schema: redeemedElicitationSchema } },
    problems: ['not_found', 'not_redeemable', 'already_redeemed', 'encryption_key_not_registered'],
  },
  verifyElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/verify',
    summary: "Say who the application's own browser session belongs to (identity mode `external`).",
    parameters: byElicitation,
    body: verifyElicitationSchema,
    responses: { 200: { description: 'The same person; send the browser on.', schema: verifiedElicitationSchema } },
    problems: [
      'not_found',
      'wrong_person',
      'verification_unknown',
      'identity_mode_mismatch',
      'already_ended',
      'quota_exceeded',
      'upstream_unavailable',
    ],
  },
  listenToEvents: {
    method: 'GET',
    path: '/v1/events',
    summary:
      "Listen to what becomes of this MCP server's elicitations, from now on or after an event that was seen before.",
    query: eventsQuerySchema,
    streams: true,
    responses: {
      200: {
        description:
          'Server-sent events without end: `event` is the type, `id` the position to go on after, `data` this object. At least ' +
          'once, in order within one elicitation. The status that a read answers with is always authoritative.',
        schema: eventSchema,
      },
    },
    problems: ['events_gone'],
  },
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    summary: "List a subject's connections that this MCP server may use.",
    query: listConnectionsQuerySchema,
    responses: { 200: { description: 'Possibly none.', schema: connectionListSchema } },
    problems: ['issuer_not_allowed'],
  },
  getAccessToken: {
    method: 'POST',
    path: '/v1/connections/{connectionId}/access-token',
    summary: "Get a fresh access token of a connection. The only way a provider's token leaves the gateway.",
    parameters: byConnection,
    body: accessTokenRequestSchema,
    optionalBody: true,
    responses: { 200: { description: 'Keep it in memory only.', schema: accessTokenSchema } },
    problems: [
      'not_found',
      'reauthorization_required',
      'encryption_key_not_registered',
      'token_not_dpop_bound',
      'confusable_name',
      'upstream_unavailable',
      'provider_unavailable',
    ],
  },
  removeConnection: {
    method: 'DELETE',
    path: '/v1/connections/{connectionId}',
    summary: 'Delete a connection here and end its grant at the provider.',
    parameters: byConnection,
    responses: { 200: { description: 'Gone here, whatever the provider says.', schema: removedConnectionSchema } },
    problems: ['not_found'],
  },
  listCredentials: {
    method: 'GET',
    path: '/v1/credentials',
    summary: "List a subject's lasting credentials that this MCP server may read.",
    query: listCredentialsQuerySchema,
    responses: { 200: { description: 'Possibly none. Never with values.', schema: credentialListSchema } },
    problems: ['issuer_not_allowed'],
  },
  readCredential: {
    method: 'POST',
    path: '/v1/credentials/{credentialId}/values',
    summary: 'Read what the user typed for a lasting credential.',
    parameters: byCredential,
    body: readCredentialRequestSchema,
    optionalBody: true,
    responses: { 200: { description: 'Keep it in memory only.', schema: credentialValuesSchema } },
    problems: ['not_found', 'encryption_key_not_registered', 'confusable_name'],
  },
  removeCredential: {
    method: 'DELETE',
    path: '/v1/credentials/{credentialId}',
    summary: 'Delete a lasting credential.',
    parameters: byCredential,
    responses: { 200: { description: 'Gone.', schema: removedCredentialSchema } },
    problems: ['not_found'],
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** What any call can answer. */
export const commonProblems: readonly ProblemCode[] = [
  'invalid_request',
  'unauthenticated',
  'rate_limited',
  'too_many_concurrent_requests',
  'internal_error',
  'unavailable',
  'overloaded',
];

/** What a call that sends something can answer beyond that. */
export const bodyProblems: readonly ProblemCode[] = ['payload_too_large', 'unsupported_media_type'];
