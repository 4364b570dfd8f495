import { expect, test } from 'vitest';
import { z } from 'zod/v4';
import type { GateContext } from '../ask/verbs.ts';
import { createReceiptVerifier, postern } from '../index.ts';
import { accountWorld } from '../testing/account-world.ts';
import type { PosternOptions } from './environment.ts';
import { createEnvironment } from './environment.ts';

const good = { url: 'https://postern.example.com/', apiKey: 'k'.repeat(32) } satisfies PosternOptions<unknown>;
const auth = { privateKey: 'pem', kid: 'k1', mcpServerId: 'issues' };
const invalid = expect.objectContaining({ code: 'invalid_options' });

test.each<PosternOptions<unknown>>([
  good,
  { ...good, url: 'http://127.0.0.1:3000' },
  { ...good, url: 'http://localhost:3000/postern' },
  { ...good, url: 'http://[::1]:3000' },
  { ...good, url: 'http://gateway:3000', allowHttp: true },
  { url: good.url, auth, stateKeys: [{ kid: 'a', key: new Uint8Array(32) }] },
  { ...good, holdMs: 0 },
])('accepts %j', options => {
  expect(() => createEnvironment(options)).not.toThrow();
});

test.each<PosternOptions<unknown>>([
  { ...good, url: 'postern.example.com' },
  { ...good, url: 'ftp://postern.example.com' },
  { ...good, url: 'https://user@postern.example.com' },
  { ...good, url: 'https://postern.example.com/?a=1' },
  { ...good, url: 'http://gateway:3000' },
  { ...good, url: 'http://127.0.0.1.example.com' },
  { url: good.url },
  { ...good, apiKey: '' },
  { ...good, apiKey: `${'k'.repeat(32)}\n` },
  { ...good, auth },
  { url: good.url, auth },
  { ...good, stateKeys: [] },
  { ...good, holdMs: -1 },
  { ...good, holdMs: 0.5 },
  { ...good, maxRounds: 0 },
])('refuses %j', options => {
  expect(() => createEnvironment(options)).toThrow(invalid);
});

test('never quotes the API key', () => {
  const apiKey = 'secret key with spaces';
  expect(() => createEnvironment({ ...good, apiKey })).not.toThrow(expect.objectContaining({ message: /secret/ }));
  expect(() => createEnvironment({ ...good, apiKey })).toThrow(invalid);
});

/** As plain JavaScript passes it. */
const misspelled = (options: object, name: string): never => ({ ...options, [name]: 'x' }) as never;

test.each([
  ['holdMS', misspelled(good, 'holdMS'), /"holdMS".*Allowed: .*holdMs/s],
  ['missingCapability', misspelled(good, 'missingCapability'), /"plain"\|"error".*missingCapability/s],
  ['text', { ...good, text: 'x' as never }, /Must be a function.*text/s],
  ['subject', misspelled(good, 'subject'), /subject/],
  ['check', { ...good, check: { providers: ['github'] } as never }, /false.*check/s],
  ['auth', { url: good.url, auth: misspelled(auth, 'keyId'), stateKeys: [] }, /"keyId".*kid.*auth/s],
  ['stateKeys', { ...good, stateKeys: [misspelled({ kid: 'a', key: new Uint8Array(32) }, 'id')] }, /"id".*stateKeys/s],
])('refuses an unknown option or value, and names it and what is allowed: %s', (_name, options, message) => {
  expect(() => postern(options)).toThrow(
    expect.objectContaining({ code: 'invalid_options', message: expect.stringMatching(message) }),
  );
});

const card = { issuer: 'https://gate.example.com', mcpServerId: 'shop', keys: { keys: [] } };

test('a receipt verifier refuses unknown options', () => {
  expect(() => createReceiptVerifier(misspelled(card, 'allowTestPayment'))).toThrow(
    expect.objectContaining({
      code: 'invalid_options',
      message: expect.stringMatching(/"allowTestPayment".*allowTestPayments/s),
    }),
  );
});

const terms = { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 1 }, reference: 'A-1' };
const key = { name: 'acme', title: 'Key', fields: [{ name: 'key', label: 'Key' }] };
const form = z.object({ branch: z.string() });
const asks: Record<string, (gate: GateContext, options: never) => Promise<unknown>> = {
  authorize: (gate, options) => gate.try.authorize('github', options),
  'authorize, the short way': (gate, options) => gate.authorize('github', options),
  pay: (gate, options) => gate.try.pay(terms, options),
  confirm: (gate, options) => gate.try.confirm('Send it', options),
  credential: (gate, options) => gate.try.credential(key, options),
  form: (gate, options) => gate.try.form(form, options),
  'form.text': (gate, options) => gate.try.form.text('Which branch?', options),
  accessToken: async (gate, options) => {
    const github = await gate.try.authorize('github');
    return github.action === 'accept' ? github.accessToken(options) : undefined;
  },
};

test.each(Object.entries(asks))('%s refuses an unknown option before it asks', async (_name, ask) => {
  await using world = await accountWorld();
  const before = world.gateway.issueCount;
  await expect(world.run(gate => ask(gate, misspelled({}, 'timeoutMs')))).rejects.toMatchObject({
    code: 'invalid_ask',
    message: expect.stringMatching(/"timeoutMs".*Allowed: /s),
  });
  expect(world.gateway.issueCount - before).toBeLessThanOrEqual(1);
});

test('an ask refuses an unknown value, and names the allowed ones', async () => {
  await using world = await accountWorld();
  const options: never = misspelled({}, 'missingCapability');
  await expect(world.run(gate => gate.try.confirm('Send it', options))).rejects.toMatchObject({
    code: 'invalid_ask',
    message: expect.stringMatching(/"plain"\|"error".*missingCapability/s),
  });
});
