/** What the OpenAPI document shows is what a gateway accepts and sends. */
import {
  type IssueElicitationInput,
  type Operation,
  type OperationId,
  operations,
  type ProblemBody,
  type ProblemCode,
  problemSchema,
  receiptKeySetSchema,
} from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { paymentOf } from '../support/asks.ts';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { askFor, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

/** The issuer in the examples. */
const ISSUER = 'https://id.example.com';
let world: PayingWorld;
let elicitationId = '';
beforeAll(async () => {
  world = await startWorld({
    payment: { maxAmount: { EUR: 100_000, JPY: 50_000 }, firstPasskeyUpTo: {} },
    mcpServer: { kinds: ['authorization', 'payment', 'credential', 'confirmation', 'form'] },
    otherMcpServers: [{ id: 'other', kinds: ['confirmation'], providers: [], returnUrls: ['https://other.example/'] }],
    config: ({ base }) => ({
      identityProviders: [...(base.identityProviders ?? []), { name: 'company', issuer: ISSUER, clientId: 'postern' }],
      mcpServers: base.mcpServers.map(server =>
        server.id === 'tracker' ? { ...server, issuers: [...(server.issuers ?? []), ISSUER] } : server,
      ),
    }),
  });
  elicitationId = (await world.ask(world.subject())).elicitationId;
});
afterAll(() => world?.[Symbol.asyncDispose]());

const cases = Object.entries(operations as Record<string, Operation>).flatMap(([id, operation]) => {
  const { parameters = {}, request = { none: undefined } } = operation.examples ?? {};
  return Object.entries(request).map(([name, body]) => [id as OperationId, name, operation, parameters, body] as const);
});

/** Codes of a request that the gateway could not understand or attribute. */
const misunderstood: readonly ProblemCode[] = [
  ...(['invalid_request', 'unauthenticated', 'unsupported_media_type', 'payload_too_large'] as const),
  ...(['kind_not_allowed', 'issuer_not_allowed', 'provider_not_allowed', 'processor_not_allowed'] as const),
];

describe('examples', () => {
  it.each(cases)('%s accepts the example %s', async (operationId, example, operation, parameters, body) => {
    const values = { ...parameters, ...('elicitationId' in parameters && { elicitationId }) };
    const path = operation.path.replace(/\{(\w+)\}/g, (__, name: string) => String(values[name as 'elicitationId']));
    const inQuery = Object.entries(values).filter(
      ([name, value]) => !operation.path.includes(`{${name}}`) && name !== 'wait' && value !== undefined,
    );
    const url = `${path}?${new URLSearchParams(inQuery.map(([name, value]) => [name, String(value)]))}`;
    if (operation.streams === true) {
      const stopping = new AbortController();
      const headers = { authorization: `Bearer ${keyOf('tracker')}` };
      const stream = await fetch(`${world.gateways[0]?.address}${url}`, { headers, signal: stopping.signal });
      stopping.abort();
      expect(stream.status).toBe(200);
      return;
    }
    const headers: Record<string, string> =
      operation.idempotencyKey === undefined ? {} : { 'idempotency-key': `${operationId}-${example}` };
    const answer = await world.api.call(operation.method, url, body, headers);
    expectInContract(operationId, answer);
    if (operationId === 'issueElicitation') expect(answer.status).toBe(201);
    if (answer.status >= 400) expect(misunderstood).not.toContain((answer.body as ProblemBody).code);
  });

  it('the key set is served as described', async () => {
    const answer = await fetch(`${world.gateways[0]?.address}/.well-known/jwks.json`);
    expect(answer.headers.get('content-type')).toMatch(/^application\/jwk-set\+json/);
    expect(answer.headers.get('cache-control')).toMatch(/max-age/);
    const body: unknown = await answer.json();
    expect(receiptKeySetSchema.parse(body)).toEqual(body);
  });

  it('responses have the described headers', async () => {
    const { headers } = await world.api.read(elicitationId);
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
      expect(headers.get(name), name).toMatch(/^\d+$/);
  });
});

describe('S100: a refusal says what is allowed to this caller, and nothing about others', () => {
  const ask = (change: object) => ({ ...askFor(world, 'alice'), ...change }) as unknown as IssueElicitationInput;
  const authorization = (change: object) => ask({ authorization: { provider: 'forge', ...change } });
  const payment = (change: Parameters<typeof paymentOf>[0]) =>
    ask({ authorization: undefined, ...paymentOf({ items: undefined, ...change }) });

  it.each<[ProblemCode, string, () => IssueElicitationInput, string[]]>([
    ['kind_not_allowed', 'other', () => ask({}), ['confirmation']],
    ['issuer_not_allowed', 'tracker', () => ask({ subject: { issuer: 'https://x', subject: 'x' } }), [ISSUER]],
    ['provider_not_allowed', 'tracker', () => authorization({ provider: 'elsewhere' }), ['forge']],
    ['scope_not_allowed', 'tracker', () => authorization({ scopes: ['admin'] }), ['issues', 'repo']],
    ['resource_not_allowed', 'tracker', () => authorization({ resource: 'https://x.example' }), ['none']],
    ['return_url_not_registered', 'tracker', () => ask({ returnUrl: 'https://x.example/' }), ['none']],
    ['processor_not_allowed', 'tracker', () => payment({ processor: 'elsewhere' }), ['stripe-main', 'none']],
    ['payee_not_registered', 'tracker', () => payment({ payee: { name: 'Evil Shop' } }), ['Book Shop']],
    ['currency_not_allowed', 'tracker', () => payment({ amount: { currency: 'CHF', minorUnits: 1 } }), ['EUR', 'JPY']],
    [
      'amount_over_limit',
      'tracker',
      () => payment({ amount: { currency: 'EUR', minorUnits: 100_001 } }),
      ['EUR up to 100000', 'JPY up to 50000'],
    ],
  ])('%s', async (code, mcpServerId, body, names) => {
    const answer = await world.apiOf({ apiKey: keyOf(mcpServerId) }).issue(body());
    const { detail = '' } = expectProblem(answer, code);
    const [, listed = ''] = /^Allowed [\w ]+(?: \([^)]+\))?: (.*)\.$/.exec(detail) ?? [];
    for (const name of names) expect(listed.split(', ')).toContain(name);
    expect(listed).not.toMatch(/other\.example|elsewhere|x\.example|admin|CHF/);
  });

  it('invalid_request names the first fault by its path, without its value', async () => {
    const answer = await world.api.issue(ask({ ttlSeconds: 1, returnUrl: 'SECRET', more: 'SECRET' }));
    const { detail = '', errors = [] } = expectProblem(answer, 'invalid_request');
    expect(errors.length).toBe(3);
    expect(detail.startsWith(`${errors[0]?.path}: ${errors[0]?.message}`)).toBe(true);
    expect(detail).toContain('2 more');
    expect(JSON.stringify(answer.body)).not.toContain('SECRET');
  });

  it.each([
    ['{"SECRET', { 'content-type': 'application/json' }],
    ['', { 'content-type': 'application/json' }],
  ])('malformed body %j has a detail', async (body, headers) => {
    const answer = await world.api.call('POST', '/v1/elicitations', body, headers);
    expect(expectProblem(answer, 'invalid_request').detail).toMatch(/body/);
    expect(JSON.stringify(answer.body)).not.toContain('SECRET');
  });

  it('nothing is listed without a credential', async () => {
    const answer = await world.apiOf({ apiKey: 'pk_wrong' }).issue(ask({}));
    expect(problemSchema.parse(expectProblem(answer, 'unauthenticated'))).not.toHaveProperty('detail');
  });
});
