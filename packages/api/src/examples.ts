/** Values in the examples of the operations. */
import type { z } from 'zod/v4';
import type { CallerBody } from './caller.ts';
import type { ElicitationBody, IssueElicitationInput } from './elicitations.ts';
import type { WebhookEventBody } from './events.ts';
import type { ProblemBody } from './problems.ts';
import type { RedeemedElicitationBody, receiptKeySetSchema } from './redemption.ts';
import type { PaymentBody, RefundBody } from './refunds.ts';

export const subject = { issuer: 'https://id.example.com', subject: '248289761001' };
export const elicitationId = 'el_7fJx2m9QvT4sWc8dYb1nRf6hKpZ3gLa7eUoXi5tBwC0jM4';
export const connectionId = 'cn_7fJx2m8RwU5tXd9eZc2oSg7iLqA4hMb6fVpYj0uCxD1kN3';
export const credentialId = 'cr_7fJx2m7SxV6uYe0fAd3pTh8jMrB5iNc9gWqZk1vDyE2lO4';
export const createdAt = '2026-11-21T12:00:00.000Z';
export const endedAt = '2026-11-21T12:00:30.410Z';

const pending = {
  elicitationId,
  status: 'pending',
  url: `https://gate.example.com/e/${elicitationId}`,
  matchCode: 'KQ-4M',
  createdAt,
  expiresAt: '2026-11-21T12:10:00.000Z',
} as const;
export const authorizationPending: ElicitationBody = {
  ...pending,
  kind: 'authorization',
  message: {
    en: 'Connect your Code Forge account to list your repositories',
    de: 'Verbinden Sie Ihr Code-Forge-Konto, um Ihre Repositorys aufzulisten',
  },
  authorization: { provider: 'forge', providerName: 'Code Forge' },
};
export const authorizationCompleted: ElicitationBody = {
  ...authorizationPending,
  status: 'completed',
  endedAt,
  outcome: { kind: 'authorization', connectionId, provider: 'forge', scopes: ['repo'] },
};
export const confirmationCompleted: ElicitationBody = {
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

export const issue: Record<string, IssueElicitationInput> = {
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
export const redeemedExamples: Record<string, RedeemedElicitationBody> = {
  confirmation: { ...redeemed, kind: 'confirmation', receipt: 'eyJhbGciOiJFZERTQSJ9.eyJraW5kIjoi….QeQ2678Cj7L1' },
  credential: { ...redeemed, kind: 'credential', values: { api_key: 'the-key-that-the-user-typed' } },
  form: { ...redeemed, kind: 'form', content: { branch: 'main', squash: true } },
  sealedCredential: { ...redeemed, kind: 'credential', sealedResult: 'eyJhbGciOiJFQ0RILUVTIn0..c2Vh.bGVk.dGFn' },
};

export const caller: CallerBody = {
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

export const refund: RefundBody = {
  refundId: 'rf_0Gm3mXxJm1kqJ7f2kS6cVb8yT4wZ5nQhRr1uLpEo9Ds',
  minorUnits: 1245,
  status: 'succeeded',
  requestedBy: 'mcp_server',
  createdAt: '2026-11-22T09:15:00.000Z',
  reason: 'One copy was damaged',
  processorReference: 're_3PqXample0001',
};
export const payment: PaymentBody = {
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

export const tokenFacts = {
  tokenType: 'Bearer',
  expiresAt: '2026-11-21T13:00:00.000Z',
  scopes: ['repo'],
  generation: 3,
};
export const credentialFacts = { credentialId, name: 'acme-api', fields: ['api_key'], generation: 1 };

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
