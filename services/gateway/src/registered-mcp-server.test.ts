import { describe, expect, test } from 'vitest';
import { checkOf, mayAsk, mayUse, registerMcpServer } from './registered-mcp-server.ts';
import { createAsksStage } from './testing/asks-stage.ts';
import { createFlowStage } from './testing/flow-stage.ts';

const {
  config,
  limits: { quota },
} = createAsksStage().caller();
const changed = (change: Partial<typeof config>) => registerMcpServer({ ...config, ...change }, quota);
const payment = {
  processors: ['stripe-main'],
  maxAmount: { EUR: 2490 },
  passkeyAbove: {},
  firstPasskeyUpTo: {},
  payees: [],
  freshSignInSeconds: 300,
};

describe('what an MCP server may (still) ask', () => {
  test.each([
    ['as it was asked', { payment }, true],
    ['a processor was withdrawn', { payment: { ...payment, processors: ['none'] } }, false],
    ['the limit was lowered', { payment: { ...payment, maxAmount: { EUR: 2489 } } }, false],
    ['the currency was withdrawn', { payment: { ...payment, maxAmount: { JPY: 1_000_000 } } }, false],
    ['the kind was withdrawn', { payment, kinds: ['form' as const] }, false],
  ])('a payment: %s', async (_, change, may) => {
    const { request } = await createAsksStage().pay();
    expect(mayAsk(changed(change), request)).toBe(may);
  });

  test('payments only where there are limits, everything else unless named', () => {
    const { payment: _, ...bare } = config;
    expect(registerMcpServer(bare, quota).kinds).toEqual(['authorization', 'credential', 'confirmation', 'form']);
  });
});

describe('S42: whose connections an MCP server may use', () => {
  test.each([
    ['its own', {}, true],
    ['of another owner', { id: 'calendar' }, false],
    ['of a group that it joined since', { group: 'office' }, false],
    ['at a provider that the operator has withdrawn', { providers: [] }, false],
    ['of an issuer that the operator has withdrawn', { issuers: ['https://other.example'] }, false],
  ])('%s', async (_, change, may) => {
    const stage = createFlowStage({});
    const connection = await stage.connect();
    expect(mayUse(registerMcpServer({ ...stage.caller().config, ...change }, quota), connection)).toBe(may);
  });
});

test('a check belongs to the name it is configured for, whatever a credential is called', () => {
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
