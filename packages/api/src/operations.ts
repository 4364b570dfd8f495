import { z } from 'zod/v4';
import { callerSchema } from './caller.ts';
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
import type { Operation } from './operation.ts';
import { redeemedElicitationSchema, redeemRequestSchema } from './redemption.ts';
import { paymentSchema, refundRequestSchema, refundSchema } from './refunds.ts';

const byElicitation = z.strictObject({ elicitationId: elicitationIdSchema });
const byConnection = z.strictObject({ connectionId: connectionIdSchema });
const byCredential = z.strictObject({ credentialId: credentialIdSchema });

export const operations = {
  readCaller: {
    method: 'GET',
    path: '/v1/me',
    tag: 'Caller',
    summary: 'Read who this caller is and what it may request: the registration of its MCP server.',
    responses: {
      200: { description: 'Nothing secret, and nothing about other MCP servers.', schema: callerSchema },
    },
    problems: [],
  },
  issueElicitation: {
    method: 'POST',
    path: '/v1/elicitations',
    tag: 'Elicitations',
    summary: 'Issue an elicitation, or get an existing one: open, unredeemed, or already answered by stored data.',
    body: issueElicitationSchema,
    idempotencyKey:
      'Scoped to the MCP server and the subject: the same key for another subject is a different key. For 24 hours the same key with ' +
      'the same body gets the same response, also while the first request is in flight; another body gets ' +
      '`idempotency_key_reused`. A refused request leaves its key free.',
    responses: {
      200: {
        description:
          'An open elicitation for the same request. Or `completed`, if a connection or a lasting credential already serves, or ' +
          'if the user has answered the same request and the result has not been redeemed.',
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
      'payee_not_registered',
      'currency_not_allowed',
      'amount_over_limit',
      'payment_not_possible',
      'confusable_name',
      'subject_token_invalid',
      'idempotency_key_reused',
      'muted',
      'too_many_elicitations',
      'too_many_open_elicitations',
      'quota_exceeded',
      'upstream_unavailable',
      'provider_unavailable',
    ],
  },
  readElicitation: {
    method: 'GET',
    path: '/v1/elicitations/{elicitationId}',
    tag: 'Elicitations',
    summary:
      'Read an elicitation. With `wait`, the response comes when its status is terminal or the wait has timed out.',
    parameters: byElicitation,
    query: waitQuerySchema,
    responses: { 200: { description: 'As it stands.', schema: elicitationSchema } },
    problems: ['not_found'],
  },
  cancelElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/cancel',
    tag: 'Elicitations',
    summary: 'Cancel. Cancelling a cancelled elicitation returns it unchanged.',
    parameters: byElicitation,
    responses: { 200: { description: 'Cancelled.', schema: elicitationSchema } },
    problems: ['not_found', 'already_ended', 'illegal_transition', 'payment_in_progress', 'upstream_unavailable'],
  },
  redeemElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/redeem',
    tag: 'Elicitations',
    summary: 'Take the result of a completed elicitation, once.',
    parameters: byElicitation,
    body: redeemRequestSchema,
    optionalBody: true,
    idempotencyKey:
      'Identifies this redemption: the same key gets the same result again, any other key gets `already_redeemed`.',
    responses: {
      200: { description: 'The result. Each elicitation is redeemed once.', schema: redeemedElicitationSchema },
    },
    problems: [
      'not_found',
      'not_redeemable',
      'already_redeemed',
      'payment_in_progress',
      'payment_refunded',
      'encryption_key_not_registered',
    ],
  },
  verifyElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/verify',
    tag: 'Elicitations',
    summary: "Report the user of the application's own browser session (identity mode `external`).",
    parameters: byElicitation,
    body: verifyElicitationSchema,
    responses: { 200: { description: 'The user matches. Redirect the browser.', schema: verifiedElicitationSchema } },
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
  readPayment: {
    method: 'GET',
    path: '/v1/payments/{elicitationId}',
    tag: 'Payments',
    summary: 'Read how a payment stands: its refunds and disputes. Its record is kept longer than its elicitation.',
    parameters: byElicitation,
    responses: { 200: { description: 'As the processor has last reported it.', schema: paymentSchema } },
    problems: ['not_found'],
  },
  refundPayment: {
    method: 'POST',
    path: '/v1/payments/{elicitationId}/refunds',
    tag: 'Payments',
    summary: 'Pay back a part of a payment, or all of it.',
    parameters: byElicitation,
    body: refundRequestSchema,
    requiresIdempotencyKey: true,
    idempotencyKey:
      'Required. As long as the payment is kept, the same key with the same body is the same refund, and gets it as it now stands. ' +
      'Another body gets `idempotency_key_reused`.',
    responses: {
      201: {
        description:
          'Reserved. `pending` if the processor has not confirmed it yet: the gateway goes on, and announces `payment.refunded` or ' +
          '`payment.refund_failed`.',
        schema: refundSchema,
      },
    },
    problems: [
      'not_found',
      'payment_not_paid',
      'payment_disputed',
      'too_many_refunds',
      'refund_exceeds_payment',
      'refund_not_possible',
      'idempotency_key_reused',
    ],
  },
  listenToEvents: {
    method: 'GET',
    path: '/v1/events',
    tag: 'Events',
    summary: "Listen to the events of this MCP server's elicitations, from now on or after an earlier event.",
    query: eventsQuerySchema,
    streams: true,
    responses: {
      200: {
        description:
          'Endless server-sent events: `event` is the type, `id` the position to resume after, `data` this object. At least ' +
          'once, in order within one elicitation. The status in the response to a read is always authoritative.',
        schema: eventSchema,
      },
    },
    problems: ['events_gone'],
  },
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    tag: 'Connections',
    summary: "List a subject's connections that this MCP server may use.",
    query: listConnectionsQuerySchema,
    responses: { 200: { description: 'Possibly none.', schema: connectionListSchema } },
    problems: ['issuer_not_allowed'],
  },
  getAccessToken: {
    method: 'POST',
    path: '/v1/connections/{connectionId}/access-token',
    tag: 'Connections',
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
    tag: 'Connections',
    summary: 'Delete a connection here and end its grant at the provider.',
    parameters: byConnection,
    responses: {
      200: { description: 'Deleted here, whatever the provider responds.', schema: removedConnectionSchema },
    },
    problems: ['not_found'],
  },
  listCredentials: {
    method: 'GET',
    path: '/v1/credentials',
    tag: 'Credentials',
    summary: "List a subject's lasting credentials that this MCP server may read.",
    query: listCredentialsQuerySchema,
    responses: { 200: { description: 'May be empty. Never contains values.', schema: credentialListSchema } },
    problems: ['issuer_not_allowed'],
  },
  readCredential: {
    method: 'POST',
    path: '/v1/credentials/{credentialId}/values',
    tag: 'Credentials',
    summary: 'Read the values that the user typed for a lasting credential.',
    parameters: byCredential,
    body: readCredentialRequestSchema,
    optionalBody: true,
    responses: { 200: { description: 'Keep it in memory only.', schema: credentialValuesSchema } },
    problems: ['not_found', 'encryption_key_not_registered', 'confusable_name'],
  },
  removeCredential: {
    method: 'DELETE',
    path: '/v1/credentials/{credentialId}',
    tag: 'Credentials',
    summary: 'Delete a lasting credential.',
    parameters: byCredential,
    responses: { 200: { description: 'Gone.', schema: removedCredentialSchema } },
    problems: ['not_found'],
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;
