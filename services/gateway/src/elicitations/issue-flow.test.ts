import { askDigest } from '@postern/elicitation';
import type { TermsCheck } from '@postern/payment';
import { describe, expect, test } from 'vitest';
import {
  createElicitationStage,
  parsedInput,
  sampleConfirmation,
  sampleCredential,
  sampleTerms,
} from '../testing/elicitation-stage.ts';
import { assertPossiblePayment, elicitationRequestOf, patternedTextsIn } from './issue-flow.ts';

const check = { url: 'https://acme.example/whoami', basic: { username: 'user', password: 'word' } };
const { caller } = createElicitationStage({ mcpServer: { credentialChecks: { 'acme-api': check } } });
const fault = (path: string) =>
  expect.objectContaining({ code: 'invalid_request', errors: [expect.objectContaining({ path })] });

describe('a payment', () => {
  test('uses the first processor unless it names another', () => {
    expect(elicitationRequestOf(parsedInput({ payment: sampleTerms }), caller())).toMatchObject({
      processor: 'stripe-main',
    });
    const named = elicitationRequestOf(parsedInput({ payment: { ...sampleTerms, processor: 'none' } }), caller());
    expect(named).toMatchObject({ processor: 'none' });
    expect(named).not.toHaveProperty('terms.processor');
  });

  test('a payment is built even for an MCP server without payments, which the domain refuses', () => {
    const { payment: _, ...bare } = caller();
    expect(elicitationRequestOf(parsedInput({ payment: sampleTerms }), bare)).toMatchObject({ processor: 'none' });
  });
});

test.each([
  { payment: { ...sampleTerms, items: [{ label: 'Book', unitMinorUnits: 2490 }] } },
  { confirmation: sampleConfirmation },
  { credential: { ...sampleCredential, name: 'other' } },
  { form: { requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } },
] as const)('every kind gets the digest of its request: %j', ask => {
  const request = elicitationRequestOf(parsedInput(ask as never), caller());
  expect(request.digest).toBe(askDigest(request));
  // No member is undefined, so the request read from the store has the same digest.
  expect(askDigest(JSON.parse(JSON.stringify(request)))).toBe(request.digest);
});

test.each(['XAU', 'XXX', 'XDR', 'ZZZ'])(
  'S199: a confirmation with an amount that no page can show is refused by its path: %s',
  currency => {
    const facts = ['EUR', currency].map(code => ({
      type: 'amount',
      label: 'Sum',
      value: { currency: code, minorUnits: 1 },
    })) as never;
    expect(() =>
      elicitationRequestOf(parsedInput({ confirmation: { ...sampleConfirmation, facts } }), caller()),
    ).toThrow(fault('body.confirmation.facts.1.value.currency'));
  },
);

describe('a credential request', () => {
  const asked = (change: Partial<typeof sampleCredential> & object) => () =>
    elicitationRequestOf(parsedInput({ credential: { ...sampleCredential, name: 'other', ...change } }), caller());

  test('a credential request without a field that its check needs is refused', () => {
    expect(asked({ name: 'acme-api' })).toThrow(fault('body.credential.fields'));
    const fields = ['user', 'word'].map(name => ({ name, label: name }));
    expect(asked({ name: 'acme-api', fields })()).toMatchObject({ name: 'acme-api' });
  });

  test('a credential request may have the name of an Object.prototype member', () => {
    expect(asked({ name: 'constructor' })()).toMatchObject({ name: 'constructor' });
  });

  test('a credential request has the same digest with and without a rejected generation', () => {
    const again = asked({ retention: 'lasting', rejectedGeneration: 7 } as never)();
    const first = asked({ retention: 'lasting' } as never)();
    expect(again).toEqual({ ...first, rejectedGeneration: 7 });
  });
});

test('the texts that the user types have the paths of their patterns', () => {
  const fields = [{ name: 'api_key', label: 'API key', pattern: 'a', maxLength: 9 }];
  expect(patternedTextsIn(parsedInput({ credential: { ...sampleCredential, fields } }))).toMatchObject([
    { path: 'body.credential.fields.0.pattern', pattern: 'a', maxLength: 9 },
  ]);
  const properties = { first: { type: 'boolean' }, name: { type: 'string', pattern: 'b' } } as const;
  expect(patternedTextsIn(parsedInput({ form: { requestedSchema: { type: 'object', properties } } }))).toMatchObject([
    { pattern: undefined },
    { path: 'body.form.requestedSchema.properties.name.pattern', pattern: 'b', maxLength: 4096 },
  ]);
});

describe('S141: the payee of a payment', () => {
  const { caller: shop, processors } = createElicitationStage({
    payment: { payees: ['Book Shop', { name: 'Music Shop', accounts: { 'stripe-main': 'acct_music' } }] },
  });
  const requestOf = (name: string, processor = 'stripe-main') => {
    const request = elicitationRequestOf(
      parsedInput({ payment: { ...sampleTerms, payee: { name }, processor } }),
      shop(),
    );
    if (request.kind !== 'payment') throw new TypeError('of another kind');
    return request;
  };

  test('has the registered account, which is no part of the terms', () => {
    expect(requestOf('Music Shop')).toMatchObject({ payeeAccount: 'acct_music' });
    expect(requestOf('Music Shop').terms).toEqual({ ...sampleTerms, payee: { name: 'Music Shop' } });
    for (const request of [requestOf('Music Shop', 'none'), requestOf('Book Shop')])
      expect(request.payeeAccount).toBeUndefined();
  });

  test.each(['Music shop', 'Music Shop Ltd', 'Evil Shop', 'constructor', '__proto__'])(
    'is refused by name with a processor unless it is registered: %s',
    name => {
      expect(() => assertPossiblePayment(requestOf(name), shop(), processors)).toThrow(
        expect.objectContaining({
          code: 'payee_not_registered',
          detail: 'Allowed payees: Book Shop, Music Shop.',
          errors: [expect.objectContaining({ path: 'body.payment.payee.name' })],
        }),
      );
      expect(() => assertPossiblePayment(requestOf(name, 'none'), shop(), processors)).not.toThrow();
    },
  );

  test('is compared in NFC', () => {
    const { caller: cafe } = createElicitationStage({ payment: { payees: ['Cafe\u0301'] } });
    const request = elicitationRequestOf(
      parsedInput({ payment: { ...sampleTerms, payee: { name: 'Caf\u00e9' } } }),
      cafe(),
    );
    if (request.kind !== 'payment') throw new TypeError('of another kind');
    expect(() => assertPossiblePayment(request, cafe(), processors)).not.toThrow();
  });
});

const impossible: TermsCheck = {
  result: 'impossible',
  reason: 'quantity_too_large',
  member: 'items.1.quantity',
  message: 'too many',
};

describe('S70: issuing a payment that the processor would refuse', () => {
  const { caller, processors, scripted } = createElicitationStage();
  scripted.takesNothing(impossible);
  const check = (change: object = {}) => {
    const request = elicitationRequestOf(parsedInput({ payment: { ...sampleTerms, ...change } }), caller());
    if (request.kind !== 'payment') throw new TypeError('of another kind');
    assertPossiblePayment(request, caller(), processors);
  };

  test('issuing a payment that the processor would refuse is refused with the name of the invalid member', () => {
    expect(() => check()).toThrow(
      expect.objectContaining({
        code: 'payment_not_possible',
        errors: [{ path: 'body.payment.items.1.quantity', message: 'too many' }],
      }),
    );
  });

  test('issuing a payment that the processor would refuse is allowed without a processor', () => {
    expect(() => check({ processor: 'none' })).not.toThrow();
  });

  test.each([
    ['above the limit', { amount: { currency: 'EUR', minorUnits: 100_001 } }],
    ['in another currency', { amount: { currency: 'USD', minorUnits: 1 } }],
    ['by another processor', { processor: 'cash' }],
  ])('leaves it to the domain to refuse a payment %s', (_, change) => {
    expect(() => check(change)).not.toThrow();
  });
});
