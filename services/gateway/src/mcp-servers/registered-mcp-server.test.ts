import { describe, expect, test } from 'vitest';
import { createElicitationStage } from '../testing/elicitation-stage.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { asConfigured, checkOf, mayAsk, mayUse, registerMcpServer } from './registered-mcp-server.ts';

const {
  config,
  limits: { quota },
} = createElicitationStage().caller();
const changed = (change: Partial<typeof config>) => registerMcpServer({ ...config, ...change }, quota);
const payment = {
  processors: ['stripe-main'],
  maxAmount: { EUR: 2490 },
  passkeyAbove: {},
  perPersonAndDay: {},
  firstPasskeyUpTo: {},
  payees: [{ name: 'Book Shop', accounts: {} }],
  refundUnexpected: false,
  freshSignInSeconds: 300,
};

describe('whether an MCP server may request', () => {
  test.each([
    ['the configuration has not changed', { payment }, true],
    ['the processor was removed', { payment: { ...payment, processors: ['none'] } }, false],
    ['the limit is now lower', { payment: { ...payment, maxAmount: { EUR: 2489 } } }, false],
    ['the currency was removed', { payment: { ...payment, maxAmount: { JPY: 1_000_000 } } }, false],
    ['the payee was removed', { payment: { ...payment, payees: [] } }, false],
    [
      'the payee has another account now',
      { payment: { ...payment, payees: [{ name: 'Book Shop', accounts: { 'stripe-main': 'acct_2' } }] } },
      false,
    ],
    [
      'the payee has an account elsewhere',
      { payment: { ...payment, payees: [{ name: 'Book Shop', accounts: { other: 'acct_2' } }] } },
      true,
    ],
    ['the kind was removed', { payment, kinds: ['form' as const] }, false],
  ])('a payment if %s', async (_, change, may) => {
    const { request } = await createElicitationStage().pay();
    expect(mayAsk(changed(change), request)).toBe(may);
  });

  test('a kind by default: every kind except payments', () => {
    const { payment: _, ...bare } = config;
    expect(registerMcpServer(bare, quota).kinds).toEqual(['authorization', 'credential', 'confirmation', 'form']);
  });
});

describe('S42: whether an MCP server may use a connection', () => {
  test.each([
    ['that it owns', {}, true],
    ['of another owner', { id: 'calendar' }, false],
    ['from before it joined a group', { group: 'office' }, false],
    ['at a provider that is no longer allowed', { providers: [] }, false],
    ['whose kind is no longer allowed', { kinds: ['confirmation' as const] }, false],
    ['of an issuer that is no longer allowed', { issuers: ['https://other.example'] }, false],
  ])('%s', async (_, change, may) => {
    const stage = createFlowStage({});
    const connection = await stage.connect();
    expect(mayUse(registerMcpServer({ ...stage.caller().config, ...change }, quota), connection)).toBe(may);
  });
});

test('checkOf returns only the check that is configured under the name of the credential', () => {
  const check = {
    url: 'https://acme.example',
    bearer: 'key',
    method: 'GET' as const,
    accepted: [200],
    rejected: [401],
  };
  const mcpServer = changed({ credentialChecks: { 'acme-api': check } });
  expect(checkOf(mcpServer, 'acme-api')).toBe(check);
  expect(checkOf(mcpServer, 'constructor')).toBeUndefined();
  expect(checkOf(undefined, 'acme-api')).toBeUndefined();
});

test.each([
  [['https://id.example'], 'https://id.example/', 'https://id.example'],
  [['https://id.example/'], 'https://id.example', 'https://id.example/'],
  [['https://id.example', 'https://id.example/'], 'https://id.example/', 'https://id.example/'],
  [['https://id.example'], 'https://id.example//', 'https://id.example//'],
  [['https://id.example/t'], 'https://id.example/t/', 'https://id.example/t/'],
])('S194: with the issuers %j, a user of %s is one of %s', (issuers, issuer, expected) => {
  expect(asConfigured(changed({ issuers }), { issuer, subject: 'alice' })).toEqual({
    issuer: expected,
    subject: 'alice',
  });
});
