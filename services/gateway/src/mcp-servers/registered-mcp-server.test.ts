import { describe, expect, test } from 'vitest';
import { parseConfig } from '../platform/config/load-config.ts';
import { limitDefaultsOf } from '../platform/config/mcp-server-config.ts';
import { createElicitationStage } from '../testing/elicitation-stage.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { sampleConfig } from '../testing/sample-config.ts';
import { allowedToCaller } from './allowed-to-caller.ts';
import {
  asConfigured,
  checkOf,
  mayAsk,
  mayUse,
  registerMcpServer,
  registerMcpServers,
} from './registered-mcp-server.ts';

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

describe('S215: the limits per user', () => {
  const { elicitationsPerSubject: _, openElicitationsPerSubject: __, ...unset } = config.limits;

  test.each([
    ['https://gate.example', { subjectMax: 30, openMax: 20 }],
    ['http://127.0.0.1:4480', { subjectMax: 10_000, openMax: 1000 }],
  ])('at %s', (publicUrl, expected) => {
    const gateway = parseConfig(sampleConfig({ publicUrl }));
    expect([...registerMcpServers(gateway).values()].map(({ limits }) => limits)).toMatchObject([expected]);
    const [mcpServer] = gateway.mcpServers.map(server => ({
      ...server,
      limits: { ...server.limits, elicitationsPerSubject: 3, openElicitationsPerSubject: 2 },
    }));
    if (mcpServer === undefined) throw new Error('no MCP server');
    expect(registerMcpServer(mcpServer, quota, limitDefaultsOf(publicUrl)).limits).toMatchObject({
      subjectMax: 3,
      openMax: 2,
    });
  });

  test.each(['too_many_elicitations', 'too_many_open_elicitations', 'quota_exceeded'] as const)(
    'are named by the refusal %s, with value and setting',
    code => {
      const server = changed({ limits: { ...unset, elicitationsPerSubject: 7, openElicitationsPerSubject: 5 } });
      const expected = {
        too_many_elicitations: /\b7 .+ 600 .+mcpServers\[\]\.limits\.elicitationsPerSubject/,
        too_many_open_elicitations: /\b5 .+mcpServers\[\]\.limits\.openElicitationsPerSubject/,
        quota_exceeded: new RegExp(`\\b${quota.records} .+limits\\.storedRecords.+limits\\.storedMegabytes`),
      };
      expect(allowedToCaller(code, () => server)).toMatch(expected[code]);
    },
  );
});

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
