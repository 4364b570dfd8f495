import { askDigest } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import {
  createAsksStage,
  parsedAsk,
  sampleConfirmation,
  sampleCredential,
  sampleTerms,
} from '../testing/asks-stage.ts';
import { askedRequest } from './asked-request.ts';

const check = { url: 'https://acme.example/whoami', basic: { username: 'user', password: 'word' } };
const { caller } = createAsksStage({ mcpServer: { credentialChecks: { 'acme-api': check } } });
const fault = (path: string) =>
  expect.objectContaining({ code: 'invalid_request', errors: [expect.objectContaining({ path })] });

describe('a payment', () => {
  test('goes to the first processor unless it names another', () => {
    expect(askedRequest(parsedAsk({ payment: sampleTerms }), caller())).toMatchObject({ processor: 'stripe-main' });
    const named = askedRequest(parsedAsk({ payment: { ...sampleTerms, processor: 'none' } }), caller());
    expect(named).toMatchObject({ processor: 'none' });
    expect(named).not.toHaveProperty('terms.processor');
  });

  test('of an MCP server without payments is left to the domain to refuse', () => {
    const { payment: _, ...bare } = caller();
    expect(askedRequest(parsedAsk({ payment: sampleTerms }), bare)).toMatchObject({ processor: 'none' });
  });
});

test.each([
  { payment: { ...sampleTerms, items: [{ label: 'Book', unitMinorUnits: 2490 }] } },
  { confirmation: sampleConfirmation },
  { credential: { ...sampleCredential, name: 'other' } },
  { form: { requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } },
] as const)('every kind is stored with its own digest: %j', ask => {
  const request = askedRequest(parsedAsk(ask as never), caller());
  expect(request.digest).toBe(askDigest(request));
  // What is absent is absent, so that the digest of what the store gives back is the same.
  expect(askDigest(JSON.parse(JSON.stringify(request)))).toBe(request.digest);
});

describe('a credential', () => {
  const asked = (change: Partial<typeof sampleCredential> & object) => () =>
    askedRequest(parsedAsk({ credential: { ...sampleCredential, name: 'other', ...change } }), caller());
  const field = (pattern: string) => ({ name: 'api_key', label: 'API key', pattern });

  test('with a pattern that cannot be matched, or not in time, is refused where it stands', () => {
    expect(asked({ fields: [field('(')] })).toThrow(fault('body.credential.fields.0.pattern'));
    expect(asked({ fields: [field('.{0,999}'.repeat(25))] })).toThrow(fault('body.credential.fields.0.pattern'));
  });

  test('whose check needs a field that is not asked for is refused', () => {
    expect(asked({ name: 'acme-api' })).toThrow(fault('body.credential.fields'));
    const fields = ['user', 'word'].map(name => ({ name, label: name }));
    expect(asked({ name: 'acme-api', fields })()).toMatchObject({ name: 'acme-api' });
  });

  test('may be called like a part of every object', () => {
    expect(asked({ name: 'constructor' })()).toMatchObject({ name: 'constructor' });
  });

  test('that was turned away is the same ask', () => {
    const again = asked({ retention: 'lasting', rejectedGeneration: 7 } as never)();
    const first = asked({ retention: 'lasting' } as never)();
    expect(again).toEqual({ ...first, rejectedGeneration: 7 });
  });
});

describe('a form', () => {
  const asked = (pattern: string, maxLength?: number) => () =>
    askedRequest(
      parsedAsk({
        form: {
          requestedSchema: {
            type: 'object',
            properties: { first: { type: 'boolean' }, name: { type: 'string', pattern, maxLength } },
          },
        },
      } as never),
      caller(),
    );
  const where = 'body.form.requestedSchema.properties.name.pattern';

  test('with a pattern that cannot be matched, or not in time, is refused where it stands', () => {
    expect(asked('(?=look)')).toThrow(fault(where));
    expect(asked('[a-z]{0,900}')).toThrow(fault(where));
    expect(asked('[a-z]{0,900}', 40)()).toMatchObject({
      requestedSchema: { properties: { name: { pattern: '[a-z]{0,900}' } } },
    });
  });
});
