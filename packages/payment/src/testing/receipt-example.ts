import { askDigest, type CompletedElicitation, type PaymentTerms } from '@postern/elicitation';
import { createReceiptKeys, type ReceiptJwk } from '../receipt-keys.ts';
import { createReceipts } from '../receipts.ts';

/** The published example key of RFC 8037, appendix A.1, under its thumbprint (A.3). Not used for real receipts. */
const key: ReceiptJwk = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
};
const kid = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';

const terms: PaymentTerms = {
  payee: { name: 'Corner Bookshop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  items: [
    { label: 'Field Guide to Gates', quantity: 2, unitMinorUnits: 1495 },
    { label: 'Voucher', quantity: 1, unitMinorUnits: -500 },
  ],
  reference: 'order-1042',
};
const digest = askDigest({ kind: 'payment', terms, processor: 'stripe' });
const approvedAt = Date.UTC(2026, 9, 1, 12, 0, 30, 250);

const elicitation: CompletedElicitation = {
  elicitationId: 'el_b1mC4kJ0dXoWq7cVt2Lr9pYhS5nEaG3zUfKxR8iTjZwD6',
  version: 4,
  mcpServerId: 'bookshop',
  identityMode: 'login',
  subject: { issuer: 'https://id.example.com', subject: 'user-4711' },
  request: { kind: 'payment', terms, processor: 'stripe', digest },
  createdAt: approvedAt - 60_000,
  expiresAt: approvedAt + 540_000,
  status: 'completed',
  outcome: {
    kind: 'payment',
    digest,
    approval: { method: 'passkey', identity: 'login', at: approvedAt, authTime: approvedAt - 150_250 },
    processor: 'stripe',
    processorReference: 'pi_3PqXample0001',
  },
  endedAt: approvedAt + 45_000,
};

/** The worked example of docs/receipts.md in Markdown: key set, receipt and claims. */
export async function receiptExample(): Promise<string> {
  const receipts = createReceipts({ issuer: 'https://postern.example.com', keys: createReceiptKeys([{ kid, key }]) });
  const receipt = await receipts.sign({ mcpServerId: elicitation.mcpServerId, elicitation });
  const [header = '', payload = ''] = receipt.split('.');
  const decoded = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
  return [
    'Key set:',
    fenced('json', JSON.stringify(receipts.jwks(), null, 2)),
    'Receipt (one line; wrapped here for readability):',
    fenced('text', (receipt.match(/.{1,100}/g) ?? []).join('\n')),
    'Header:',
    fenced('json', JSON.stringify(decoded(header), null, 2)),
    'Claims:',
    fenced('json', JSON.stringify(decoded(payload), null, 2)),
  ].join('\n\n');
}

const fenced = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;
