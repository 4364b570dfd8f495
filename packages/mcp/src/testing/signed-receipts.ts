/** Valid receipts, and receipts that no gateway would sign. */
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { termsDigest } from '../receipt/claims.ts';

export const ISSUER = 'https://postern.example.com';
export const MCP_SERVER = 'bookshop';
export const APPROVED_AT = Date.UTC(2026, 9, 1, 12, 0, 30);

async function newKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'EdDSA', use: 'sig' } };
}
/** `strange` has the key id of `current`. */
export const [current, retired, strange] = await Promise.all([newKey('current'), newKey('retired'), newKey('current')]);
export const keys = { keys: [current.publicJwk, retired.publicJwk] };

export const paymentTerms = {
  payee: { name: 'Corner Bookshop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  items: [
    { label: 'Field Guide to Gates', quantity: 2, unitMinorUnits: 1495 },
    { label: 'Voucher', quantity: 1, unitMinorUnits: -500 },
  ],
  reference: 'order-1042',
};
export const confirmationTerms = {
  title: 'Delete the repository gates',
  action: { en: 'Delete repository', de: 'Repository löschen' },
  facts: [
    { type: 'text' as const, label: 'Repository', value: 'gates' },
    { type: 'number' as const, label: 'Issues', value: 17.5 },
    { type: 'amount' as const, label: 'Refund', value: { currency: 'JPY', minorUnits: 1200 } },
    { type: 'time' as const, label: 'Last change', value: '2026-09-21T08:00:00+02:00' },
    { type: 'host' as const, label: 'Host', value: 'git.example.com' },
  ],
  danger: 'destructive' as const,
};

export const common = {
  iss: ISSUER,
  aud: MCP_SERVER,
  jti: 'el_7fone',
  iat: APPROVED_AT / 1000,
  sub_id: { format: 'iss_sub', iss: 'https://id.example.com', sub: 'user-4711' },
  approval: { method: 'passkey', identity: 'login', at: new Date(APPROVED_AT).toISOString() },
};
export const payment = {
  ...common,
  kind: 'payment',
  terms: paymentTerms,
  digest: termsDigest({ kind: 'payment', terms: paymentTerms }),
  processor: 'stripe',
  processorReference: 'pi_3Test',
};
export const confirmation = {
  ...common,
  kind: 'confirmation',
  terms: confirmationTerms,
  digest: termsDigest({ kind: 'confirmation', terms: confirmationTerms }),
  approval: { ...common.approval, method: 'button', authTime: '2026-10-01T11:58:00.000Z' },
};

export const sign = (claims: unknown, header: object = {}, key = current) =>
  new CompactSign(new TextEncoder().encode(typeof claims === 'string' ? claims : JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: 'postern-receipt+jwt', ...header })
    .sign(key.privateKey);
