import { inspect } from 'node:util';
import canonicalize from 'canonicalize';
import { CompactSign, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import {
  APPROVED_AT,
  common,
  confirmation,
  confirmationTerms,
  current,
  ISSUER,
  keys,
  MCP_SERVER,
  payment,
  paymentTerms,
  retired,
  sign,
  strange,
} from '../testing/signed-receipts.ts';
import { type ReceiptOf, termsDigest } from './claims.ts';
import type { ReceiptExpectations } from './verifier.ts';
import { createReceiptVerifier } from './verifier.ts';

const verifier = createReceiptVerifier({
  issuer: ISSUER,
  mcpServerId: MCP_SERVER,
  keys,
  now: () => APPROVED_AT + 1000,
});
const refusal = (code: string) => ({ name: 'ReceiptError', code });

describe('a valid receipt', () => {
  it.each([
    ['payment', payment],
    ['confirmation', confirmation],
  ])('is given back with its claims: %s', async (_, claims) => {
    expect(await verifier.verify(await sign(claims))).toEqual(claims);
  });

  it('S69: a receipt of a test-mode payment is refused, unless the verifier accepts test payments', async () => {
    const test = await sign({ ...payment, mode: 'test' });
    await expect(verifier.verify(test)).rejects.toMatchObject(refusal('test_payment'));
    await expect(verifier.verify(test, { kind: 'payment' })).rejects.toMatchObject(refusal('test_payment'));
    const lenient = createReceiptVerifier({
      issuer: ISSUER,
      mcpServerId: MCP_SERVER,
      keys,
      allowTestPayments: true,
      now: () => APPROVED_AT + 1000,
    });
    expect(await lenient.verify(test)).toMatchObject({ mode: 'test' });
    expect(await verifier.verify(await sign({ ...payment, mode: 'live' }))).toMatchObject({ mode: 'live' });
    const unknown = await sign({ ...payment, mode: 'practice' });
    await expect(lenient.verify(unknown)).rejects.toMatchObject(refusal('invalid_claims'));
  });

  it('a verified receipt has the type of the expected kind', async () => {
    const { terms, processor } = await verifier.verify(await sign(payment), { kind: 'payment' });
    expect([terms.amount.minorUnits, processor]).toEqual([2490, 'stripe']);
    const confirmed = await verifier.verify(await sign(confirmation), { kind: 'confirmation' });
    expect(confirmed.terms.danger).toBe('destructive');
  });

  it('the type is narrowed only by compared members', async () => {
    const receipt = await sign(confirmation);
    // @ts-expect-error: nothing proves that it is a payment.
    const claimed: Promise<ReceiptOf<'payment'>> = verifier.verify<'payment'>(receipt, {});
    expect((await claimed).kind).toBe('confirmation');
  });

  it('a receipt may be signed with any published key', async () => {
    expect(await verifier.verify(await sign(payment, {}, retired))).toMatchObject({ jti: 'el_7fone' });
  });

  it('a receipt may have members in any order, and unknown claims', async () => {
    const reversed = Object.fromEntries(Object.entries({ ...payment, tenant: 'new' }).reverse());
    expect(await verifier.verify(await sign(reversed))).toEqual(payment);
  });
});

describe('an invalid receipt', () => {
  const flip = (text: string, at: number) => `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;

  it('refuses a receipt with any changed bit in the payload or signature', async () => {
    const receipt = await sign(payment);
    const [header = '', payload = '', signature = ''] = receipt.split('.');
    for (let at = 0; at < payload.length; at += 17)
      await expect(verifier.verify([header, flip(payload, at), signature].join('.'))).rejects.toMatchObject(
        refusal('wrong_signature'),
      );
    for (let at = 0; at < signature.length - 1; at += 5)
      await expect(verifier.verify([header, payload, flip(signature, at)].join('.'))).rejects.toMatchObject(
        refusal('wrong_signature'),
      );
  });

  const altered: Record<string, object> = {
    iss: { iss: 'https://evil.example' },
    aud: { aud: 'other' },
    jti: { jti: 'el_7ftwo' },
    iat: { iat: 1 },
    sub_id: { sub_id: { format: 'iss_sub', iss: 'https://id.example.com', sub: 'user-1' } },
    kind: { kind: 'confirmation' },
    digest: { digest: 'A'.repeat(43) },
    terms: { terms: { ...paymentTerms, amount: { currency: 'EUR', minorUnits: 1 } } },
    approval: { approval: { ...common.approval, method: 'button' } },
    processor: { processor: 'none' },
    processorReference: { processorReference: 'pi_other' },
  };
  it('the test below covers every claim', () => {
    expect(Object.keys(altered).sort()).toEqual(Object.keys(payment).sort());
  });
  it.each(Object.entries(altered))('refuses a claim changed after signing: %s', async (_, change) => {
    const [header, , signature] = (await sign(payment)).split('.');
    const payload = Buffer.from(JSON.stringify({ ...payment, ...change })).toString('base64url');
    await expect(verifier.verify([header, payload, signature].join('.'))).rejects.toMatchObject(
      refusal('wrong_signature'),
    );
  });

  it.each([
    ['wrong_issuer', { iss: 'https://evil.example' }],
    ['wrong_issuer', { iss: `${ISSUER}/` }],
    ['wrong_audience', { aud: 'other' }],
    ['invalid_claims', { aud: [MCP_SERVER] }],
    ['digest_mismatch', { digest: 'A'.repeat(43) }],
    ['digest_mismatch', { terms: { ...paymentTerms, amount: { currency: 'EUR', minorUnits: 2491 } } }],
    ['digest_mismatch', { terms: { ...paymentTerms, amount: { currency: 'USD', minorUnits: 2490 } } }],
    ['digest_mismatch', { terms: { ...paymentTerms, payee: { name: 'Corner Bookshop.' } } }],
    ['digest_mismatch', { terms: { ...paymentTerms, reference: 'order-1043' } }],
    ['digest_mismatch', { terms: { ...paymentTerms, items: [...paymentTerms.items].reverse() } }],
    ['invalid_claims', { terms: confirmationTerms }],
    ['invalid_claims', { terms: { ...paymentTerms, tip: 1 } }],
    ['invalid_claims', { terms: { ...paymentTerms, amount: { currency: 'EUR', minorUnits: 24.9 } } }],
    ['invalid_claims', { terms: { ...paymentTerms, amount: { currency: 'EUR', minorUnits: '2490' } } }],
    ['invalid_claims', { terms: { ...paymentTerms, amount: { currency: 'EUR', minorUnits: 2 ** 60 } } }],
    ['invalid_claims', { kind: 'authorization' }],
    ['invalid_claims', { digest: 'short' }],
    ['invalid_claims', { processor: undefined }],
    ['invalid_claims', { approval: { ...common.approval, method: 'wish' } }],
    ['invalid_claims', { approval: { ...common.approval, at: 'today' } }],
    ['invalid_claims', { sub_id: { format: 'email', email: 'a@example.com' } }],
  ])('%s, though correctly signed: %o', async (code, change) => {
    await expect(verifier.verify(await sign({ ...payment, ...change }))).rejects.toMatchObject(refusal(code));
  });

  it.each(Object.keys(payment).filter(name => name !== 'processorReference'))(
    'invalid_claims: without %s',
    async name => {
      const claims = Object.fromEntries(Object.entries(payment).filter(([member]) => member !== name));
      await expect(verifier.verify(await sign(claims))).rejects.toMatchObject(refusal('invalid_claims'));
    },
  );

  it('the digest covers kind and terms, so terms valid for both kinds differ', async () => {
    const claims = { ...confirmation, digest: payment.digest };
    await expect(verifier.verify(await sign(claims))).rejects.toMatchObject(refusal('digest_mismatch'));
  });

  it('text that is not valid Unicode has no digest', async () => {
    const claims = JSON.stringify({ ...payment, terms: { ...paymentTerms, reference: '?' } });
    const receipt = await sign(claims.replace('"?"', '"\\ud800"'));
    await expect(verifier.verify(receipt)).rejects.toMatchObject(refusal('invalid_claims'));
  });

  it.each([
    ['wrong_type', { typ: 'JWT' }],
    ['wrong_type', { typ: undefined }],
    ['wrong_type', { typ: 'application/postern-receipt+jwt' }],
    ['unknown_key', { kid: 'other' }],
    ['unknown_key', { kid: undefined }],
    ['malformed', { crit: ['b64'], b64: true }],
  ])('%s: header %o', async (code, header) => {
    await expect(verifier.verify(await sign(payment, header))).rejects.toMatchObject(refusal(code));
  });

  it('refuses a foreign key under a published key id', async () => {
    await expect(verifier.verify(await sign(payment, {}, strange))).rejects.toMatchObject(refusal('wrong_signature'));
  });

  it('ignores a JWK embedded in the receipt header', async () => {
    const header = { kid: 'strange', jwk: strange.publicJwk, jku: 'https://evil.example/jwks.json' };
    await expect(verifier.verify(await sign(payment, header, strange))).rejects.toMatchObject(refusal('unknown_key'));
  });

  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  it.each(['none', 'HS256', 'RS256', 'ES256', 'Ed25519'])('wrong_algorithm: %s', async alg => {
    const header = encoded({ alg, kid: 'current', typ: 'postern-receipt+jwt' });
    const [, payload, signature] = (await sign(payment)).split('.');
    for (const third of [signature, ''])
      await expect(verifier.verify([header, payload, third].join('.'))).rejects.toMatchObject(
        refusal('wrong_algorithm'),
      );
  });

  it('does not try an HMAC with the public key as its secret, or an RSA signature', async () => {
    const secret = Buffer.from(String(current.publicJwk.x), 'base64url');
    const { privateKey } = await generateKeyPair('RS256');
    const body = new TextEncoder().encode(JSON.stringify(payment));
    for (const [alg, key] of [
      ['HS256', secret],
      ['RS256', privateKey],
    ] as const) {
      const header = { alg, kid: 'current', typ: 'postern-receipt+jwt' };
      const receipt = await new CompactSign(body).setProtectedHeader(header).sign(key);
      await expect(verifier.verify(receipt)).rejects.toMatchObject(refusal('wrong_algorithm'));
    }
  });

  it.each([
    ['nothing', ''],
    ['text', 'receipt'],
    ['too few parts', 'a.b'],
    ['too much', 'a'.repeat(300_000)],
    ['no text', undefined as unknown as string],
  ])('malformed: %s', async (_, receipt) => {
    await expect(verifier.verify(receipt)).rejects.toMatchObject(refusal('malformed'));
  });

  it('invalid_claims: refuses a payload that is not JSON, without quoting it', async () => {
    for (const payload of ['canary', '"canary"', 'null', '[]']) {
      const error: unknown = await verifier.verify(await sign(payload)).catch((reason: unknown) => reason);
      expect(error).toMatchObject(refusal('invalid_claims'));
      expect(inspect(error, { depth: 10 })).not.toContain('canary');
    }
  });
});

describe('expectations', () => {
  const met: ReceiptExpectations = {
    kind: 'payment',
    elicitationId: 'el_7fone',
    subject: { issuer: 'https://id.example.com', subject: 'user-4711' },
    digest: payment.digest,
    amount: { currency: 'EUR', minorUnits: 2490 },
    payee: 'Corner Bookshop',
    reference: 'order-1042',
    processor: 'stripe',
    minimumMethod: 'passkey',
    maxAgeMs: 1000,
  };

  it('S38: refuses a misspelled expectation, which would expect nothing', async () => {
    const misspelled: object = { ammount: { currency: 'EUR', minorUnits: 1 } };
    await expect(verifier.verify(await sign(payment), misspelled)).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringMatching(/"ammount".*amount/s),
    });
  });

  it('S38: refuses an expectation whose value is undefined, which would expect nothing', async () => {
    for (const name of Object.keys(met)) {
      const verified = verifier.verify(await sign(payment), { ...met, [name]: undefined });
      await expect(verified, name).rejects.toMatchObject({ code: 'invalid_options' });
    }
  });

  it('a receipt can meet all expectations', async () => {
    expect(await verifier.verify(await sign(payment), met)).toEqual(payment);
  });

  it.each<[string, ReceiptExpectations]>([
    ['wrong_kind', { kind: 'confirmation' }],
    ['wrong_elicitation', { elicitationId: 'el_7ftwo' }],
    ['wrong_subject', { subject: { issuer: 'https://id.example.com', subject: 'user-1' } }],
    ['wrong_subject', { subject: { issuer: 'https://other.example', subject: 'user-4711' } }],
    ['wrong_digest', { digest: confirmation.digest }],
    ['wrong_amount', { amount: { currency: 'EUR', minorUnits: 2489 } }],
    ['wrong_amount', { amount: { currency: 'USD', minorUnits: 2490 } }],
    ['wrong_payee', { payee: 'corner bookshop' }],
    ['wrong_reference', { reference: 'order-1' }],
    ['wrong_processor', { processor: 'none' }],
    ['wrong_time', { maxAgeMs: 999 }],
    ['wrong_time', { maxAgeMs: Number.NaN }],
  ])('%s: %o', async (code, change) => {
    await expect(verifier.verify(await sign(payment), { ...met, ...change })).rejects.toMatchObject(refusal(code));
  });

  it.each<ReceiptExpectations>([
    { amount: { currency: 'EUR', minorUnits: 2490 } },
    { payee: 'Corner Bookshop' },
    { reference: 'order-1042' },
    { processor: 'none' },
  ])('a confirmation does not meet expectations of payments: %o', async expected => {
    await expect(verifier.verify(await sign(confirmation), expected)).rejects.toMatchObject(refusal('wrong_kind'));
  });

  it('a button approval is weaker than a passkey, and suffices where a button is expected', async () => {
    const receipt = await sign(confirmation);
    await expect(verifier.verify(receipt, { minimumMethod: 'passkey' })).rejects.toMatchObject(
      refusal('weak_approval'),
    );
    expect(await verifier.verify(receipt, { minimumMethod: 'button' })).toBeDefined();
    expect(await verifier.verify(await sign(payment), { minimumMethod: 'button' })).toBeDefined();
  });

  it('an approval in the future is accepted within the clock tolerance', async () => {
    const at = (ms: number) =>
      createReceiptVerifier({ issuer: ISSUER, mcpServerId: MCP_SERVER, keys, now: () => APPROVED_AT + ms });
    const receipt = await sign(payment);
    expect(await at(-60_000).verify(receipt, { maxAgeMs: 1000 })).toBeDefined();
    await expect(at(-60_001).verify(receipt, { maxAgeMs: 1000 })).rejects.toMatchObject(refusal('wrong_time'));
    expect(await at(-60_001).verify(receipt)).toBeDefined();
  });
});

it('termsDigest is SHA-256 over canonical JSON', () => {
  expect(canonicalize({ kind: 'payment', terms: paymentTerms })).toBe(
    '{"kind":"payment","terms":{"amount":{"currency":"EUR","minorUnits":2490},"items":[{"label":"Field Guide to Gates",' +
      '"quantity":2,"unitMinorUnits":1495},{"label":"Voucher","quantity":1,"unitMinorUnits":-500}],' +
      '"payee":{"name":"Corner Bookshop"},"reference":"order-1042"}}',
  );
  expect(termsDigest({ kind: 'payment', terms: paymentTerms })).toBe('RYdRiBxbABHJzLSHixa1PzuKjGHaRCj1daDCg8nuRnc');
});
