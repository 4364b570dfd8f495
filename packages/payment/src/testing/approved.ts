import {
  type Approval,
  askDigest,
  type CompletedElicitation,
  type ConfirmationTerms,
  type PaymentTerms,
} from '@postern/elicitation';

export const ISSUER = 'https://postern.example.com';
export const MCP_SERVER = 'bookshop';

export const paymentTerms: PaymentTerms = {
  payee: { name: 'Corner Bookshop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  items: [
    { label: 'Field Guide to Gates', quantity: 2, unitMinorUnits: 1495 },
    { label: 'Voucher', quantity: 1, unitMinorUnits: -500 },
  ],
  reference: 'order-1042',
};

export const confirmationTerms: ConfirmationTerms = {
  title: 'Delete the repository gates',
  facts: [
    { type: 'text', label: 'Repository', value: 'gates' },
    { type: 'number', label: 'Issues', value: 17 },
    { type: 'amount', label: 'Refund', value: { currency: 'JPY', minorUnits: 1200 } },
    { type: 'time', label: 'Last change', value: '2026-09-21T08:00:00Z' },
    { type: 'host', label: 'Host', value: 'git.example.com' },
  ],
  danger: 'destructive',
};

const approval: Approval = {
  method: 'passkey',
  identity: 'login',
  at: Date.UTC(2026, 9, 1, 12, 0, 30, 250),
  authTime: Date.UTC(2026, 9, 1, 11, 58),
  passkey: 'cGFzc2tleQ',
  passkeyAddedAt: Date.UTC(2026, 8, 1, 9, 30),
};

const base = {
  elicitationId: `el_7f${'B'.repeat(43)}`,
  version: 3,
  mcpServerId: MCP_SERVER,
  identityMode: 'login',
  subject: { issuer: 'https://id.example.com', subject: 'user-4711' },
  createdAt: approval.at - 60_000,
  expiresAt: approval.at + 60_000,
  status: 'completed',
  endedAt: approval.at,
} as const;

export const approvedPayment: CompletedElicitation = {
  ...base,
  request: {
    kind: 'payment',
    terms: paymentTerms,
    processor: 'stripe',
    digest: askDigest({ kind: 'payment', terms: paymentTerms, processor: 'stripe' }),
  },
  outcome: {
    kind: 'payment',
    digest: askDigest({ kind: 'payment', terms: paymentTerms, processor: 'stripe' }),
    approval,
    processor: 'stripe',
    processorReference: 'pi_3TestReference',
  },
};

export const approvedConfirmation: CompletedElicitation = {
  ...base,
  elicitationId: `el_7f${'C'.repeat(43)}`,
  identityMode: 'loopback',
  request: {
    kind: 'confirmation',
    terms: confirmationTerms,
    digest: askDigest({ kind: 'confirmation', terms: confirmationTerms }),
  },
  outcome: {
    kind: 'confirmation',
    digest: askDigest({ kind: 'confirmation', terms: confirmationTerms }),
    approval: { method: 'button', identity: 'loopback', at: approval.at },
  },
};
