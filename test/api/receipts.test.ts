/** packages/mcp verifies the receipts that packages/payment signs. The two share only docs/receipts.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Approval,
  askDigest,
  type CompletedElicitation,
  type ConfirmationTerms,
  type PaymentTerms,
} from '@postern/elicitation';
import { createReceiptVerifier, type ReceiptVerifier, termsDigest } from '@postern/mcp';
import { createReceiptKeys, createReceipts, newReceiptKey, type ReceiptKey } from '@postern/payment';
import fc from 'fast-check';
import type { JSONWebKeySet } from 'jose';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const ISSUER = 'https://postern.example.com';
const MCP_SERVER = 'bookshop';
const APPROVED_AT = Date.UTC(2026, 9, 1, 12, 0, 30, 250);
const key = await newReceiptKey();

const receiptsOf = (...keys: ReceiptKey[]) => createReceipts({ issuer: ISSUER, keys: createReceiptKeys(keys) });
const receipts = receiptsOf(key);
const keySetOf = ({ jwks }: ReturnType<typeof receiptsOf>): JSONWebKeySet => ({
  keys: jwks().keys.map(jwk => ({ ...jwk })),
});
const verifierOf = (keys: JSONWebKeySet, mcpServerId = MCP_SERVER): ReceiptVerifier =>
  createReceiptVerifier({ issuer: ISSUER, mcpServerId, keys });
const verifier = verifierOf(keySetOf(receipts));
const sign = (elicitation: CompletedElicitation) => receipts.sign({ mcpServerId: MCP_SERVER, elicitation });

const base = {
  elicitationId: `el_7f${'B'.repeat(43)}`,
  version: 3,
  mcpServerId: MCP_SERVER,
  identityMode: 'login',
  subject: { issuer: 'https://id.example.com', subject: 'user-4711' },
  createdAt: APPROVED_AT - 1000,
  expiresAt: APPROVED_AT + 1000,
  status: 'completed',
  endedAt: APPROVED_AT,
} as const;
const approval: Approval = {
  method: 'passkey',
  identity: 'login',
  at: APPROVED_AT,
  authTime: APPROVED_AT - 1000,
  passkey: 'passkey-1',
  passkeyAddedAt: APPROVED_AT - 2000,
};

function paid(terms: PaymentTerms): CompletedElicitation {
  const digest = askDigest({ kind: 'payment', terms, processor: 'none' });
  return {
    ...base,
    request: { kind: 'payment', terms, processor: 'none', digest },
    outcome: { kind: 'payment', digest, approval, processor: 'none' },
  };
}

function confirmed(terms: ConfirmationTerms): CompletedElicitation {
  const digest = askDigest({ kind: 'confirmation', terms });
  return {
    ...base,
    request: { kind: 'confirmation', terms, digest },
    outcome: { kind: 'confirmation', digest, approval },
  };
}

const text = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).filter(value => value.isWellFormed());
const amount = fc.record({
  currency: fc.constantFrom('EUR', 'JPY', 'KWD'),
  minorUnits: fc.integer({ min: 1, max: 999_999_999_999 }),
});
const item = fc.record({ label: text, quantity: fc.nat(), unitMinorUnits: fc.integer() });
const paymentTerms: fc.Arbitrary<PaymentTerms> = fc.record(
  { payee: fc.record({ name: text }), amount, items: fc.array(item, { maxLength: 4 }), reference: text },
  { requiredKeys: ['payee', 'amount', 'reference'] },
);
const confirmationTerms: fc.Arbitrary<ConfirmationTerms> = fc.record(
  {
    title: text,
    action: text,
    facts: fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('text' as const), label: text, value: text }),
        fc.record({
          type: fc.constant('number' as const),
          label: text,
          // JSON has no minus zero.
          value: fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0),
        }),
        fc.record({ type: fc.constant('amount' as const), label: text, value: amount }),
        fc.record({ type: fc.constant('time' as const), label: text, value: fc.constant('2026-09-21T08:00:00+02:00') }),
        fc.record({ type: fc.constant('host' as const), label: text, value: fc.domain() }),
      ),
      { maxLength: 5 },
    ),
    danger: fc.constantFrom('normal', 'caution', 'destructive'),
  },
  { requiredKeys: ['title', 'facts', 'danger'] },
);

describe('a receipt verifies', () => {
  it('for a payment with the digest that the MCP server computes from its own terms', async () => {
    await fc.assert(
      fc.asyncProperty(paymentTerms, async terms => {
        const { items, ...others } = terms;
        const asked = { ...others, ...(items === undefined ? {} : { items: [...items] }) };
        const expected = { kind: 'payment', digest: termsDigest({ kind: 'payment', terms: asked }) } as const;
        const receipt = await verifier.verify(await sign(paid(terms)), expected);
        expect(receipt.terms).toEqual(terms);
        expect(receipt.approval).toEqual({
          method: 'passkey',
          identity: 'login',
          at: new Date(APPROVED_AT).toISOString(),
          authTime: new Date(APPROVED_AT - 1000).toISOString(),
          passkeyAddedAt: new Date(APPROVED_AT - 2000).toISOString(),
        });
      }),
      { numRuns: 50 },
    );
  });

  it('for a confirmation likewise', async () => {
    await fc.assert(
      fc.asyncProperty(confirmationTerms, async terms => {
        const asked = { ...terms, facts: [...terms.facts] };
        const expected = { kind: 'confirmation', digest: termsDigest({ kind: 'confirmation', terms: asked }) } as const;
        expect((await verifier.verify(await sign(confirmed(terms)), expected)).terms).toEqual(terms);
      }),
      { numRuns: 50 },
    );
  });
});

const terms: PaymentTerms = {
  payee: { name: 'Corner Bookshop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  reference: 'order-1042',
};

describe('a receipt is refused', () => {
  it('by another MCP server', async () => {
    const other = verifierOf(keySetOf(receipts), 'other');
    await expect(other.verify(await sign(paid(terms)))).rejects.toMatchObject({ code: 'wrong_audience' });
  });

  it('if another gateway signed it, whatever its issuer claims', async () => {
    const other = receiptsOf({ ...(await newReceiptKey()), kid: key.kid });
    const receipt = await other.sign({ mcpServerId: MCP_SERVER, elicitation: paid(terms) });
    await expect(verifier.verify(receipt)).rejects.toMatchObject({ code: 'wrong_signature' });
  });

  it('for another amount or another user', async () => {
    const receipt = await sign(paid(terms));
    const amount = { currency: 'EUR', minorUnits: 2491 };
    await expect(verifier.verify(receipt, { amount })).rejects.toMatchObject({ code: 'wrong_amount' });
    const subject = { issuer: base.subject.issuer, subject: 'user-1' };
    await expect(verifier.verify(receipt, { subject })).rejects.toMatchObject({ code: 'wrong_subject' });
  });
});

it('after a key rotation both keys verify, and after the removal only the new one', async () => {
  const next = await newReceiptKey();
  const { d: _, ...retired } = key.key;
  const rotated = receiptsOf(next, { kid: key.kid, key: retired });
  const [before, after] = await Promise.all([
    sign(paid(terms)),
    rotated.sign({ mcpServerId: MCP_SERVER, elicitation: paid(terms) }),
  ]);
  const both = verifierOf(keySetOf(rotated));
  expect(await both.verify(before)).toEqual(await both.verify(after));
  const onlyNext = verifierOf(keySetOf(receiptsOf(next)));
  expect(await onlyNext.verify(after)).toBeDefined();
  await expect(onlyNext.verify(before)).rejects.toMatchObject({ code: 'unknown_key' });
});

it('the worked example of docs/receipts.md verifies with its own values', async () => {
  const document = readFileSync(join(import.meta.dirname, '../../docs/receipts.md'), 'utf8');
  const example = document.slice(document.indexOf('## Worked example'));
  const blocks = [...example.matchAll(/```(?:json|text)\n(.*?)```/gs)].map(([, block]) => block ?? '');
  const [keySet = '', receipt = '', , claims = ''] = blocks;
  const keys = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) }).parse(JSON.parse(keySet));
  expect(await verifierOf(keys).verify(receipt.replaceAll(/\s/g, ''))).toEqual(JSON.parse(claims));
});
