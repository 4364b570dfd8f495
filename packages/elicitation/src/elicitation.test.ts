import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { askDigest, isShownBy, type UndigestedRequest } from './elicitation.ts';

const sha256 = (canonical: string) => createHash('sha256').update(canonical).digest('base64url');

const payment = {
  kind: 'payment',
  terms: {
    payee: { name: 'Café "Zoë"' },
    amount: { currency: 'EUR', minorUnits: 1_050 },
    items: [{ label: 'Beans', quantity: 1, unitMinorUnits: 1_050 }],
    reference: 'order-7',
  },
  processor: 'stripe',
} as const;
const credential = {
  kind: 'credential',
  name: 'acme-api',
  title: 'API key of Acme',
  fields: [{ name: 'key', label: 'Key', secret: true, maxLength: 200 }],
  retention: 'lasting',
} as const;
const form = {
  kind: 'form',
  requestedSchema: { type: 'object', properties: { b: { type: 'string' }, a: { type: 'number', minimum: 0.1 } } },
  secretFields: [],
} as const;
const confirmation = { kind: 'confirmation', terms: { title: 'Delete', facts: [], danger: 'destructive' } } as const;
const withArguments = (text: string): UndigestedRequest => ({
  ...confirmation,
  terms: { ...confirmation.terms, arguments: text },
});

describe('the digest of a request', () => {
  // Written by hand (RFC 8785): members sorted, no white space.
  test.each<{ request: UndigestedRequest; canonical: string }>([
    {
      request: payment,
      canonical:
        '{"kind":"payment","terms":{"amount":{"currency":"EUR","minorUnits":1050},"items":[{"label":"Beans","quantity":1,"unitMinorUnits":1050}],"payee":{"name":"Café \\"Zoë\\""},"reference":"order-7"}}',
    },
    {
      request: confirmation,
      canonical: '{"kind":"confirmation","terms":{"danger":"destructive","facts":[],"title":"Delete"}}',
    },
    {
      request: credential,
      canonical:
        '{"fields":[{"label":"Key","maxLength":200,"name":"key","secret":true}],"kind":"credential","name":"acme-api","retention":"lasting","title":"API key of Acme"}',
    },
    {
      request: form,
      canonical:
        '{"kind":"form","requestedSchema":{"properties":{"a":{"minimum":0.1,"type":"number"},"b":{"type":"string"}},"type":"object"},"secretFields":[]}',
    },
    {
      request: withArguments('{"b":1.0,"10":[1e2,12345678901234567890,null],"2":{"é":"\\n","__proto__":true}}'),
      canonical: `{"kind":"confirmation","terms":{"argumentsDigest":"${sha256(
        '{"10":[1e2,12345678901234567890,null],"2":{"__proto__":true,"é":"\\n"},"b":1.0}',
      )}","danger":"destructive","facts":[],"title":"Delete"}}`,
    },
  ])('of a $request.kind is that of its canonical JSON', ({ request, canonical }) => {
    expect(askDigest(request)).toBe(sha256(canonical));
  });

  test.each<{ what: string; request: UndigestedRequest; changed: UndigestedRequest }>([
    {
      what: 'the amount',
      request: payment,
      changed: { ...payment, terms: { ...payment.terms, amount: { currency: 'EUR', minorUnits: 1_051 } } },
    },
    {
      what: 'the currency',
      request: payment,
      changed: { ...payment, terms: { ...payment.terms, amount: { currency: 'USD', minorUnits: 1_050 } } },
    },
    { what: 'the payee', request: payment, changed: { ...payment, terms: { ...payment.terms, payee: { name: 'x' } } } },
    {
      what: 'the danger',
      request: confirmation,
      changed: { ...confirmation, terms: { ...confirmation.terms, danger: 'normal' } },
    },
    {
      what: 'the action',
      request: confirmation,
      changed: { ...confirmation, terms: { ...confirmation.terms, action: 'Delete it' } },
    },
    { what: 'arguments', request: confirmation, changed: withArguments('{}') },
    { what: 'the text of a number', request: withArguments('{"a":1}'), changed: withArguments('{"a":1.0}') },
    { what: 'the type of a value', request: withArguments('{"a":1}'), changed: withArguments('{"a":"1"}') },
    { what: 'the order of a list', request: withArguments('{"a":[1,2]}'), changed: withArguments('{"a":[2,1]}') },
    { what: 'a title', request: form, changed: { ...form, title: '' } },
    { what: 'what is masked', request: form, changed: { ...form, secretFields: ['a'] } },
    { what: 'the retention', request: credential, changed: { ...credential, retention: 'once' } },
    { what: 'a field', request: credential, changed: { ...credential, fields: [] } },
  ])('changes with $what', ({ request, changed }) => {
    expect(askDigest(changed)).not.toBe(askDigest(request));
  });

  test('the digest depends neither on the processor, nor on rejected values, nor on the order of arguments', () => {
    expect(askDigest({ ...payment, processor: 'none' })).toBe(askDigest(payment));
    expect(askDigest({ ...credential, rejectedGeneration: 7 })).toBe(askDigest(credential));
    expect(askDigest(withArguments('{"b":1,"a":2}'))).toBe(askDigest(withArguments('{"a":2,"b":1}')));
  });

  test('the digest depends neither on the order of members nor on absent members', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), value => {
        const schema = { a: value, z: 1 } as never;
        const reordered = JSON.parse(JSON.stringify({ z: 1, a: value })) as never;
        expect(askDigest({ ...form, requestedSchema: reordered })).toBe(
          askDigest({ ...form, requestedSchema: schema }),
        );
      }),
    );
  });
});

test('S36 compares the shown digest with the terms, not only with the stored digest', () => {
  const digest = askDigest(payment);
  const asked = { ...payment, digest };
  const raised = { ...payment.terms, amount: { currency: 'EUR', minorUnits: 9_999 } };
  expect(isShownBy(digest, asked)).toBe(true);
  expect(isShownBy('another', asked)).toBe(false);
  expect(isShownBy(digest, { ...asked, terms: raised })).toBe(false);
  expect(isShownBy(digest, { ...asked, digest: 'another' })).toBe(false);
});
