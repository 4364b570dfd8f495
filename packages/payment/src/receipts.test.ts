import { askDigest, type CompletedElicitation } from '@postern/elicitation';
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { createReceiptKeys, deriveReceiptKey, newReceiptKey } from './receipt-keys.ts';
import { createReceipts } from './receipts.ts';
import {
  approvedConfirmation,
  approvedPayment,
  confirmationTerms,
  ISSUER,
  MCP_SERVER,
  paymentTerms,
} from './testing/approved.ts';

const key = await newReceiptKey();
const receipts = createReceipts({ issuer: ISSUER, keys: createReceiptKeys([key]) });
const sign = (elicitation: CompletedElicitation) => receipts.sign({ mcpServerId: MCP_SERVER, elicitation });

async function claimsOf(receipt: string, from = receipts): Promise<unknown> {
  const { keys } = from.jwks();
  const { payload } = await compactVerify(receipt, createLocalJWKSet({ keys: keys.map(jwk => ({ ...jwk })) }));
  return JSON.parse(new TextDecoder().decode(payload));
}

describe('a receipt', () => {
  it('a receipt of a payment has subject, terms, approval and processor reference', async () => {
    const receipt = await sign(approvedPayment);
    expect(decodeProtectedHeader(receipt)).toEqual({ alg: 'EdDSA', kid: key.kid, typ: 'postern-receipt+jwt' });
    expect(await claimsOf(receipt)).toEqual({
      iss: ISSUER,
      aud: MCP_SERVER,
      jti: approvedPayment.elicitationId,
      iat: Date.UTC(2026, 9, 1, 12, 0, 30) / 1000,
      sub_id: { format: 'iss_sub', iss: 'https://id.example.com', sub: 'user-4711' },
      kind: 'payment',
      digest: 'RYdRiBxbABHJzLSHixa1PzuKjGHaRCj1daDCg8nuRnc',
      terms: paymentTerms,
      approval: {
        method: 'passkey',
        identity: 'login',
        at: '2026-10-01T12:00:30.250Z',
        authTime: '2026-10-01T11:58:00.000Z',
        passkeyAddedAt: '2026-09-01T09:30:00.000Z',
      },
      processor: 'stripe',
      processorReference: 'pi_3TestReference',
    });
  });

  it('a receipt of a confirmation has its terms and no processor', async () => {
    const claims = await claimsOf(await sign(approvedConfirmation));
    expect(claims).toMatchObject({
      kind: 'confirmation',
      terms: confirmationTerms,
      approval: { method: 'button', identity: 'loopback', at: '2026-10-01T12:00:30.250Z' },
    });
    expect(Object.keys(claims as object).filter(name => name.startsWith('processor'))).toEqual([]);
  });

  it('a receipt has the digest of the arguments, and not the arguments', async () => {
    const { request, outcome } = approvedConfirmation;
    if (request.kind !== 'confirmation' || outcome.kind !== 'confirmation') throw new Error('unreachable');
    const called = { ...request, terms: { ...request.terms, arguments: '{"b":1.0,"a":"canary"}' } };
    const digest = askDigest(called);
    const receipt = await sign({
      ...approvedConfirmation,
      request: { ...called, digest },
      outcome: { ...outcome, digest },
    });
    const claims = await claimsOf(receipt);
    expect(claims).toMatchObject({
      digest,
      terms: { ...confirmationTerms, argumentsDigest: 'HXfdQw1Z165nXPFF8gigs24EQ1ZWnhEu0_F2WO-8tOY' },
    });
    expect(JSON.stringify(claims)).not.toContain('canary');
  });

  it('a receipt is always the same, regardless of the time and the order of members', async () => {
    const reordered = JSON.parse(
      JSON.stringify(approvedPayment, (_, value: unknown) =>
        value !== null && typeof value === 'object' && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).reverse())
          : value,
      ),
    ) as CompletedElicitation;
    const later = { ...reordered, version: 4, redeemedAt: 1_900_000_000_000 };
    const replica = createReceipts({ issuer: ISSUER, keys: createReceiptKeys([structuredClone(key)]) });
    const first = await sign(approvedPayment);
    expect(await sign(later)).toBe(first);
    expect(await replica.sign({ mcpServerId: MCP_SERVER, elicitation: later })).toBe(first);
  });

  it('S69: a receipt has the mode of the payment, and none without a processor', async () => {
    const { outcome } = approvedPayment;
    if (outcome.kind !== 'payment') throw new Error('unreachable');
    for (const mode of ['live', 'test'] as const)
      expect(await claimsOf(await sign({ ...approvedPayment, outcome: { ...outcome, mode } }))).toMatchObject({ mode });
    expect(await claimsOf(await sign(approvedPayment))).not.toHaveProperty('mode');
  });

  it('contains neither the passkey, the message nor the return URL', async () => {
    const receipt = await sign({ ...approvedPayment, message: 'canary-message', returnUrl: 'https://canary.example/' });
    expect(JSON.stringify(await claimsOf(receipt))).not.toMatch(/canary|cGFzc2tleQ/);
  });
});

describe('key rotation', () => {
  it('signs with the new key, and verifies receipts of the old one until it is removed', async () => {
    const old = await sign(approvedPayment);
    const next = deriveReceiptKey('next', new Uint8Array(32).fill(9));
    const { d: _, ...oldPublic } = key.key;
    const both = createReceipts({ issuer: ISSUER, keys: createReceiptKeys([next, { kid: key.kid, key: oldPublic }]) });
    const signed = await both.sign({ mcpServerId: MCP_SERVER, elicitation: approvedPayment });
    expect(decodeProtectedHeader(signed).kid).toBe('next');
    expect(await claimsOf(old, both)).toEqual(await claimsOf(signed, both));
    const after = createReceipts({ issuer: ISSUER, keys: createReceiptKeys([next]) });
    await expect(claimsOf(old, after)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
  });
});

describe('signing is refused', () => {
  const { request, outcome } = approvedPayment;
  if (request.kind !== 'payment' || outcome.kind !== 'payment') throw new Error('unreachable');
  const dearer = { ...paymentTerms, amount: { currency: 'EUR', minorUnits: 2491 } };
  const foreign = approvedConfirmation;

  it.each<[string, CompletedElicitation]>([
    ['the terms changed after the approval', { ...approvedPayment, request: { ...request, terms: dearer } }],
    ['another digest was approved', { ...approvedPayment, outcome: { ...outcome, digest: 'A'.repeat(43) } }],
    ['another digest was issued', { ...approvedPayment, request: { ...request, digest: 'A'.repeat(43) } }],
    [
      'both digests agree, but not with the terms',
      {
        ...approvedPayment,
        request: { ...request, digest: 'A'.repeat(43) },
        outcome: { ...outcome, digest: 'A'.repeat(43) },
      },
    ],
  ])('digest_mismatch: %s', async (_, elicitation) => {
    await expect(sign(elicitation)).rejects.toMatchObject({ name: 'ReceiptError', code: 'digest_mismatch' });
  });

  it.each<[string, CompletedElicitation]>([
    ['of another MCP server', { ...approvedPayment, mcpServerId: 'other' }],
    ['with the outcome of another kind', { ...approvedPayment, outcome: foreign.outcome }],
    ['with the request of another kind', { ...approvedPayment, request: foreign.request }],
    ['with another processor in the outcome', { ...approvedPayment, outcome: { ...outcome, processor: 'none' } }],
    [
      'of a kind without receipts',
      {
        ...approvedPayment,
        request: { kind: 'form', requestedSchema: {}, secretFields: [], digest: 'A'.repeat(43) },
        outcome: { kind: 'form' },
      },
    ],
  ])('unsuitable_record: %s', async (_, elicitation) => {
    await expect(sign(elicitation)).rejects.toMatchObject({ name: 'ReceiptError', code: 'unsuitable_record' });
  });
});
