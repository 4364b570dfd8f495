import { z } from 'zod/v4';
import { callerSchema } from './caller.ts';
import {
  type AccessTokenBody,
  accessTokenRequestSchema,
  accessTokenSchema,
  type ConnectionListBody,
  connectionListSchema,
  listConnectionsQuerySchema,
  type RemovedConnectionBody,
  removedConnectionSchema,
} from './connections.ts';
import {
  type CredentialListBody,
  type CredentialValuesBody,
  credentialIdSchema,
  credentialListSchema,
  credentialValuesSchema,
  listCredentialsQuerySchema,
  readCredentialRequestSchema,
  removedCredentialSchema,
} from './credentials.ts';
import {
  type ElicitationBody,
  elicitationSchema,
  issueElicitationSchema,
  type VerifiedElicitationBody,
  verifiedElicitationSchema,
  verifyElicitationSchema,
  waitQuerySchema,
} from './elicitations.ts';
import { type EventBody, eventSchema, eventsQuerySchema } from './events.ts';
import {
  authorizationCompleted,
  authorizationPending,
  caller,
  confirmationCompleted,
  connectionId,
  createdAt,
  credentialFacts,
  credentialId,
  elicitationId,
  endedAt,
  issue,
  payment,
  redeemedExamples,
  refund,
  subject,
  tokenFacts,
} from './examples.ts';
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
    query: z.strictObject({}),
    summary: 'Read who this caller is and what it may request: the registration of its MCP server.',
    output: callerSchema,
    responses: {
      200: 'Nothing secret, and nothing about other MCP servers.',
    },
    problems: [],
    examples: { response: { tracker: caller } },
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
    output: elicitationSchema,
    responses: {
      200:
        'An open elicitation for the same request. Or `completed`, if a connection or a lasting credential already serves, or ' +
        'if the user has answered the same request and the result has not been redeemed.',
      201: 'Issued.',
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
    examples: { request: issue, response: { authorization: authorizationPending } },
  },
  readElicitation: {
    method: 'GET',
    path: '/v1/elicitations/{elicitationId}',
    tag: 'Elicitations',
    summary:
      'Read an elicitation. With `wait`, the response comes when its status is terminal or the wait has timed out.',
    parameters: byElicitation,
    query: waitQuerySchema,
    output: elicitationSchema,
    responses: { 200: 'As it stands.' },
    problems: ['not_found'],
    examples: {
      parameters: { elicitationId, wait: 45 },
      response: { pending: authorizationPending, completed: authorizationCompleted },
    },
  },
  cancelElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/cancel',
    tag: 'Elicitations',
    summary: 'Cancel. Cancelling a cancelled elicitation returns it unchanged.',
    parameters: byElicitation,
    output: elicitationSchema,
    responses: { 200: 'Cancelled.' },
    problems: ['not_found', 'already_ended', 'illegal_transition', 'payment_in_progress', 'upstream_unavailable'],
    examples: {
      parameters: { elicitationId },
      response: { cancelled: { ...authorizationPending, status: 'cancelled', endedAt } satisfies ElicitationBody },
    },
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
    output: redeemedElicitationSchema,
    responses: {
      200: 'The result. Each elicitation is redeemed once.',
    },
    problems: [
      'not_found',
      'not_redeemable',
      'already_redeemed',
      'payment_in_progress',
      'payment_refunded',
      'encryption_key_not_registered',
    ],
    examples: {
      parameters: { elicitationId },
      request: { plain: {} },
      response: redeemedExamples,
    },
  },
  verifyElicitation: {
    method: 'POST',
    path: '/v1/elicitations/{elicitationId}/verify',
    tag: 'Elicitations',
    summary: "Report the user of the application's own browser session (identity mode `external`).",
    parameters: byElicitation,
    body: verifyElicitationSchema,
    output: verifiedElicitationSchema,
    responses: { 200: 'The user matches. Redirect the browser.' },
    problems: [
      'not_found',
      'wrong_person',
      'verification_unknown',
      'identity_mode_mismatch',
      'already_ended',
      'quota_exceeded',
      'upstream_unavailable',
    ],
    examples: {
      parameters: { elicitationId },
      request: {
        signedIn: { verificationId: 'vf_9hT2kQ6wYb3n', subject, authTime: 1_795_262_280 },
      },
      response: {
        matches: {
          ...confirmationCompleted,
          status: 'active',
          endedAt: undefined,
          outcome: undefined,
          continueUrl: 'https://gate.example.com/login/continue?ticket=eyJhbGciOiJkaXIifQ..c2Vh.bGVk.dGFn',
        } satisfies VerifiedElicitationBody,
      },
    },
  },
  readPayment: {
    method: 'GET',
    path: '/v1/payments/{elicitationId}',
    tag: 'Payments',
    summary: 'Read how a payment stands: its refunds and disputes. Its record is kept longer than its elicitation.',
    parameters: byElicitation,
    output: paymentSchema,
    responses: { 200: 'As the processor has last reported it.' },
    problems: ['not_found'],
    examples: { parameters: { elicitationId }, response: { partiallyRefunded: payment } },
  },
  refundPayment: {
    method: 'POST',
    path: '/v1/payments/{elicitationId}/refunds',
    tag: 'Payments',
    summary: 'Pay back a part of a payment, or all of it.',
    parameters: byElicitation,
    body: refundRequestSchema,
    requiresIdempotencyKey: 'a refund needs a key that names it',
    idempotencyKey:
      'Required. As long as the payment is kept, the same key with the same body is the same refund, and gets it as it now stands. ' +
      'Another body gets `idempotency_key_reused`.',
    output: refundSchema,
    responses: {
      201:
        'Reserved. `pending` if the processor has not confirmed it yet: the gateway goes on, and announces `payment.refunded` or ' +
        '`payment.refund_failed`.',
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
    examples: {
      parameters: { elicitationId },
      request: {
        partial: { minorUnits: 1245, reason: 'One copy was damaged' },
        full: { reason: 'Order cancelled' },
      },
      response: { succeeded: refund },
    },
  },
  listenToEvents: {
    method: 'GET',
    path: '/v1/events',
    tag: 'Events',
    summary: "Listen to the events of this MCP server's elicitations, from now on or after an earlier event.",
    query: eventsQuerySchema,
    streams: true,
    output: eventSchema,
    responses: {
      200:
        'Endless server-sent events: `event` is the type, `id` the position to resume after, `data` this object. At least ' +
        'once, in order within one elicitation. The status in the response to a read is always authoritative.',
    },
    problems: ['events_gone'],
    examples: {
      response: {
        completed: {
          eventId: 'ev_7f6hK0Qw.4',
          type: 'elicitation.completed',
          elicitationId,
          kind: 'authorization',
          occurredAt: endedAt,
        } satisfies EventBody,
      },
    },
  },
  listConnections: {
    method: 'GET',
    path: '/v1/connections',
    tag: 'Connections',
    summary: "List a subject's connections that this MCP server may use.",
    query: listConnectionsQuerySchema,
    output: connectionListSchema,
    responses: { 200: 'Possibly none.' },
    problems: ['issuer_not_allowed'],
    examples: {
      parameters: { ...subject, provider: 'forge' },
      response: {
        one: {
          connections: [
            {
              connectionId,
              provider: 'forge',
              scopes: ['repo'],
              account: { id: '4711', name: 'alice' },
              status: 'usable',
              createdAt,
              updatedAt: endedAt,
            },
          ],
        } satisfies ConnectionListBody,
      },
    },
  },
  getAccessToken: {
    method: 'POST',
    path: '/v1/connections/{connectionId}/access-token',
    tag: 'Connections',
    summary: "Get a fresh access token of a connection. The only way a provider's token leaves the gateway.",
    parameters: byConnection,
    body: accessTokenRequestSchema,
    optionalBody: true,
    output: accessTokenSchema,
    responses: { 200: 'Keep it in memory only.' },
    problems: [
      'not_found',
      'reauthorization_required',
      'encryption_key_not_registered',
      'token_not_dpop_bound',
      'confusable_name',
      'upstream_unavailable',
      'provider_unavailable',
    ],
    examples: {
      parameters: { connectionId },
      request: { plain: { tool: 'list_repositories' } },
      response: { bearer: { ...tokenFacts, accessToken: 'the-access-token' } satisfies AccessTokenBody },
    },
  },
  removeConnection: {
    method: 'DELETE',
    path: '/v1/connections/{connectionId}',
    tag: 'Connections',
    summary: 'Delete a connection here and end its grant at the provider.',
    parameters: byConnection,
    output: removedConnectionSchema,
    responses: {
      200: 'Deleted here, whatever the provider responds.',
    },
    problems: ['not_found'],
    examples: {
      parameters: { connectionId },
      response: { revoked: { connectionId, revocation: 'revoked' } satisfies RemovedConnectionBody },
    },
  },
  listCredentials: {
    method: 'GET',
    path: '/v1/credentials',
    tag: 'Credentials',
    summary: "List a subject's lasting credentials that this MCP server may read.",
    query: listCredentialsQuerySchema,
    output: credentialListSchema,
    responses: { 200: 'May be empty. Never contains values.' },
    problems: ['issuer_not_allowed'],
    examples: {
      parameters: { ...subject, name: 'acme-api' },
      response: {
        one: { credentials: [{ ...credentialFacts, createdAt, updatedAt: createdAt }] } satisfies CredentialListBody,
      },
    },
  },
  readCredential: {
    method: 'POST',
    path: '/v1/credentials/{credentialId}/values',
    tag: 'Credentials',
    summary: 'Read the values that the user typed for a lasting credential.',
    parameters: byCredential,
    body: readCredentialRequestSchema,
    optionalBody: true,
    output: credentialValuesSchema,
    responses: { 200: 'Keep it in memory only.' },
    problems: ['not_found', 'encryption_key_not_registered', 'confusable_name'],
    examples: {
      parameters: { credentialId },
      request: { plain: { tool: 'list_orders' } },
      response: {
        plain: {
          ...credentialFacts,
          values: { api_key: 'the-key-that-the-user-typed' },
        } satisfies CredentialValuesBody,
      },
    },
  },
  removeCredential: {
    method: 'DELETE',
    path: '/v1/credentials/{credentialId}',
    tag: 'Credentials',
    summary: 'Delete a lasting credential.',
    parameters: byCredential,
    output: removedCredentialSchema,
    responses: { 200: 'Gone.' },
    problems: ['not_found'],
    examples: { parameters: { credentialId }, response: { removed: { credentialId } } },
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;
