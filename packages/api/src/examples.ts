/** Examples of the OpenAPI document. Tests validate each against its schema, and send the requests to a gateway. */
import type { z } from 'zod/v4';
import type { CallerBody } from './caller.ts';
import type { AccessTokenBody, ConnectionListBody, RemovedConnectionBody } from './connections.ts';
import type { CredentialListBody, CredentialValuesBody } from './credentials.ts';
import type { ElicitationBody, IssueElicitationInput, VerifiedElicitationBody } from './elicitations.ts';
import type { EventBody, WebhookEventBody } from './events.ts';
import type { operations } from './operations.ts';
import type { ProblemBody } from './problems.ts';
import type { RedeemedElicitationBody, receiptKeySetSchema } from './redemption.ts';
import type { PaymentBody, RefundBody } from './refunds.ts';

type Operations = typeof operations;

/** The examples of one operation, by name. Parameters are those of the path and the query. */
export type OperationExamples<O> = {
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly response: Readonly<Record<string, unknown>>;
} & (O extends { body: infer B extends z.ZodType }
  ? { readonly request: Readonly<Record<string, z.input<B>>> }
  : unknown);

const subject = { issuer: 'https://id.example.com', subject: '248289761001' };
const elicitationId = 'el_7fJx2m9QvT4sWc8dYb1nRf6hKpZ3gLa7eUoXi5tBwC0jM4';
const connectionId = 'cn_7fJx2m8RwU5tXd9eZc2oSg7iLqA4hMb6fVpYj0uCxD1kN3';
const credentialId = 'cr_7fJx2m7SxV6uYe0fAd3pTh8jMrB5iNc9gWqZk1vDyE2lO4';
const createdAt = '2026-11-21T12:00:00.000Z';
const endedAt = '2026-11-21T12:00:30.410Z';

const pending = {
  elicitationId,
  status: 'pending',
  url: `https://gate.example.com/e/${elicitationId}`,
  matchCode: 'KQ-4M',
  createdAt,
  expiresAt: '2026-11-21T12:10:00.000Z',
} as const;
const authorizationPending: ElicitationBody = {
  ...pending,
  kind: 'authorization',
  message: {
    en: 'Connect your Code Forge account to list your repositories',
    de: 'Verbinden Sie Ihr Code-Forge-Konto, um Ihre Repositorys aufzulisten',
  },
  authorization: { provider: 'forge', providerName: 'Code Forge' },
};
const authorizationCompleted: ElicitationBody = {
  ...authorizationPending,
  status: 'completed',
  endedAt,
  outcome: { kind: 'authorization', connectionId, provider: 'forge', scopes: ['repo'] },
};
const confirmationCompleted: ElicitationBody = {
  ...pending,
  kind: 'confirmation',
  status: 'completed',
  endedAt,
  outcome: {
    kind: 'confirmation',
    digest: 'RYdRiBxbABHJzLSHixa1PzuKjGHaRCj1daDCg8nuRnc',
    approval: { method: 'button', identity: 'login', at: endedAt, authTime: '2026-11-21T11:58:00.000Z' },
  },
};

const issue: Record<string, IssueElicitationInput> = {
  authorization: {
    kind: 'authorization',
    subject,
    message: {
      en: 'Connect your Code Forge account to list your repositories',
      de: 'Verbinden Sie Ihr Code-Forge-Konto, um Ihre Repositorys aufzulisten',
    },
    requestedBy: { mcpClient: 'Example Editor', tool: 'list_repositories' },
    authorization: { provider: 'forge', scopes: ['repo'] },
  },
  payment: {
    kind: 'payment',
    subject,
    payment: {
      payee: { name: 'Book Shop' },
      amount: { currency: 'EUR', minorUnits: 2490 },
      items: [{ label: 'Field Guide to Gates', quantity: 2, unitMinorUnits: 1245 }],
      reference: 'order-1042',
    },
  },
  credential: {
    kind: 'credential',
    subject,
    credential: { name: 'acme-api', title: 'API key of Acme', fields: [{ name: 'api_key', label: 'API key' }] },
  },
  confirmation: {
    kind: 'confirmation',
    subject,
    ttlSeconds: 300,
    confirmation: {
      title: { en: 'Delete the repository “attic”', de: 'Das Repository „attic“ löschen' },
      action: { en: 'Delete repository', de: 'Repository löschen' },
      facts: [{ type: 'text', label: 'Repository', value: 'example/attic' }],
      danger: 'destructive',
    },
  },
  form: {
    kind: 'form',
    subject,
    form: {
      requestedSchema: {
        type: 'object',
        properties: { branch: { type: 'string', title: 'Branch' }, squash: { type: 'boolean', default: true } },
        required: ['branch'],
      },
      texts: { branch: { title: { en: 'Branch', fr: 'Branche' } } },
    },
  },
};

const redeemed = { elicitationId, redeemedAt: '2026-11-21T12:00:31.000Z' };
const redeemedExamples: Record<string, RedeemedElicitationBody> = {
  confirmation: { ...redeemed, kind: 'confirmation', receipt: 'eyJhbGciOiJFZERTQSJ9.eyJraW5kIjoi….QeQ2678Cj7L1' },
  credential: { ...redeemed, kind: 'credential', values: { api_key: 'the-key-that-the-user-typed' } },
  form: { ...redeemed, kind: 'form', content: { branch: 'main', squash: true } },
  sealedCredential: { ...redeemed, kind: 'credential', sealedResult: 'eyJhbGciOiJFQ0RILUVTIn0..c2Vh.bGVk.dGFn' },
};

const caller: CallerBody = {
  mcpServerId: 'tracker',
  name: 'Issue Tracker',
  url: 'https://tracker.example.com/mcp',
  gateway: { version: '0.1.0', contract: 1, publicUrl: 'https://gate.example.com' },
  kinds: ['authorization', 'payment', 'credential', 'confirmation', 'form'],
  providers: [
    {
      name: 'forge',
      displayName: 'Code Forge',
      scopes: ['repo', 'issues'],
      defaultScopes: ['repo'],
      flow: 'redirect',
      dpop: false,
    },
  ],
  issuers: [subject.issuer],
  audience: ['https://tracker.example.com/mcp'],
  identity: { mode: 'login' },
  payment: { currencies: { EUR: { maxMinorUnits: 100_000 } }, processors: [{ name: 'none' }], payees: ['Book Shop'] },
  returnUrls: [],
  limits: {
    requestsPerMinute: 600,
    elicitationsPerSubject: 10,
    openElicitationsPerSubject: 20,
    subjectWindowSeconds: 600,
    maxTtlSeconds: 3600,
  },
};

const refund: RefundBody = {
  refundId: 'rf_0Gm3mXxJm1kqJ7f2kS6cVb8yT4wZ5nQhRr1uLpEo9Ds',
  minorUnits: 1245,
  status: 'succeeded',
  requestedBy: 'mcp_server',
  createdAt: '2026-11-22T09:15:00.000Z',
  reason: 'One copy was damaged',
  processorReference: 're_3PqXample0001',
};
const payment: PaymentBody = {
  elicitationId,
  status: 'partially_refunded',
  processor: 'stripe-main',
  amount: { currency: 'EUR', minorUnits: 2490 },
  processorReference: 'pi_3PqXample0001',
  completesElicitation: true,
  mode: 'live',
  paidAt: endedAt,
  refundedMinorUnits: 1245,
  refundableMinorUnits: 1245,
  refunds: [refund],
  disputes: [],
};

const byElicitation = { elicitationId };
const tokenFacts = { tokenType: 'Bearer', expiresAt: '2026-11-21T13:00:00.000Z', scopes: ['repo'], generation: 3 };
const credentialFacts = { credentialId, name: 'acme-api', fields: ['api_key'], generation: 1 };

export const operationExamples: { readonly [Id in keyof Operations]: OperationExamples<Operations[Id]> } = {
  readCaller: { response: { tracker: caller } },
  issueElicitation: { request: issue, response: { authorization: authorizationPending } },
  readElicitation: {
    parameters: { ...byElicitation, wait: 45 },
    response: { pending: authorizationPending, completed: authorizationCompleted },
  },
  cancelElicitation: {
    parameters: byElicitation,
    response: { cancelled: { ...authorizationPending, status: 'cancelled', endedAt } satisfies ElicitationBody },
  },
  redeemElicitation: {
    parameters: byElicitation,
    request: { plain: {} },
    response: redeemedExamples,
  },
  verifyElicitation: {
    parameters: byElicitation,
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
  readPayment: { parameters: byElicitation, response: { partiallyRefunded: payment } },
  refundPayment: {
    parameters: byElicitation,
    request: {
      partial: { minorUnits: 1245, reason: 'One copy was damaged' },
      full: { reason: 'Order cancelled' },
    },
    response: { succeeded: refund },
  },
  listenToEvents: {
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
  listConnections: {
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
  getAccessToken: {
    parameters: { connectionId },
    request: { plain: { tool: 'list_repositories' } },
    response: { bearer: { ...tokenFacts, accessToken: 'the-access-token' } satisfies AccessTokenBody },
  },
  removeConnection: {
    parameters: { connectionId },
    response: { revoked: { connectionId, revocation: 'revoked' } satisfies RemovedConnectionBody },
  },
  listCredentials: {
    parameters: { ...subject, name: 'acme-api' },
    response: {
      one: { credentials: [{ ...credentialFacts, createdAt, updatedAt: createdAt }] } satisfies CredentialListBody,
    },
  },
  readCredential: {
    parameters: { credentialId },
    request: { plain: { tool: 'list_orders' } },
    response: {
      plain: { ...credentialFacts, values: { api_key: 'the-key-that-the-user-typed' } } satisfies CredentialValuesBody,
    },
  },
  removeCredential: { parameters: { credentialId }, response: { removed: { credentialId } } },
};

export const webhookExample: WebhookEventBody = {
  type: 'elicitation.completed',
  timestamp: endedAt,
  data: { eventId: 'ev_7f6hK0Qw.4', elicitationId, kind: 'payment', status: 'completed', mcpServerId: 'tracker' },
};

/** The example key of RFC 8037, appendix A. */
export const receiptKeySetExample: z.infer<typeof receiptKeySetSchema> = {
  keys: [
    {
      kty: 'OKP',
      crv: 'Ed25519',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
      alg: 'EdDSA',
      use: 'sig',
    },
  ],
};

export const problemExample: ProblemBody = {
  type: 'urn:postern:problem:kind_not_allowed',
  title: 'This MCP server may not issue this kind.',
  status: 403,
  code: 'kind_not_allowed',
  detail: 'Allowed kinds: authorization, confirmation.',
  requestId: 'rq_Zk4nV0p8sT2wXy6b',
};
