import { generateKeyPairSync } from 'node:crypto';
import type { CallerBody } from '@postern/api';
import { CONTRACT_REVISION } from '@postern/api';
import { type GatewayConfigInput, parseConfig } from '@postern/gateway';
import { postern } from '@postern/mcp';
import { calculateJwkThumbprint } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { createApi, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

const { publicKey } = generateKeyPairSync('x25519');
const exported = Object.fromEntries(Object.entries(publicKey.export({ format: 'jwk' })));
const key = { ...exported, kty: 'OKP' as const, kid: 'delivery' };

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({
    payment: {},
    mcpServer: { returnUrls: ['https://app.example/back'], limits: { maxTtlSeconds: 3600 } },
    otherMcpServers: [
      {
        id: 'canary-id',
        name: 'Canary Name',
        url: 'https://canary.example/mcp',
        group: 'canary-group',
        identity: { mode: 'external', verifyUrl: 'https://canary.example/verify' },
        audiences: ['canary-audience'],
        returnUrls: ['https://canary.example/back'],
        kinds: ['authorization', 'form'],
        encryption: { key, required: true },
      },
      { id: 'bare', providers: [], kinds: ['form'] },
    ],
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const readWith = (apiKey: string, query = '') =>
  createApi(world.gateways[0]?.address ?? '', apiKey).call<CallerBody>('GET', `/v1/me${query}`);

describe('GET /v1/me', () => {
  it('describes the MCP server of the API key', async () => {
    const answer = await readWith(keyOf('tracker'));
    expect(answer.status).toBe(200);
    expectInContract('readCaller', answer);
    expect(answer.body).toMatchObject({
      mcpServerId: 'tracker',
      name: 'Issue Tracker',
      url: 'http://localhost:7001/mcp',
      gateway: { contract: CONTRACT_REVISION, publicUrl: world.publicUrl },
      kinds: expect.arrayContaining(['authorization', 'payment', 'credential', 'confirmation', 'form']),
      providers: [
        {
          name: 'forge',
          displayName: 'Code Forge',
          flow: 'redirect',
          dpop: false,
          scopes: ['repo', 'issues'],
          defaultScopes: ['repo'],
        },
      ],
      issuers: [world.identityProvider.issuer],
      audience: ['http://localhost:7001/mcp'],
      identity: { mode: 'login' },
      payment: { processors: [{ name: 'stripe-main', mode: 'test' }, { name: 'none' }], payees: ['Book Shop'] },
      returnUrls: ['https://app.example/back'],
      limits: { maxTtlSeconds: 3600 },
    });
    expect(Object.keys(answer.body.payment?.currencies ?? {})).toContain('EUR');
    expect(answer.body).not.toHaveProperty('encryption');
  });

  it('names the registered encryption key by its thumbprint, and the page of the application', async () => {
    const { body } = await readWith(keyOf('canary-id'));
    expect(body).toMatchObject({
      identity: { mode: 'external', verifyUrl: 'https://canary.example/verify' },
      encryption: { thumbprint: await calculateJwkThumbprint(key), kid: 'delivery', required: true },
    });
    expect(body).not.toHaveProperty('payment');
  });

  it('S97: contains nothing secret and nothing of another MCP server', async () => {
    const own = JSON.stringify((await readWith(keyOf('tracker'))).body);
    expect(own).not.toMatch(/canary|sha256:/i);
    for (const secret of [
      ...world.config.vault.keys.map(vaultKey => vaultKey.key),
      ...world.config.mcpServers.flatMap(server => (server.apiKeys ?? []).map(({ hash }) => hash.slice(7))),
      'forge-client-secret',
      'postern-login-secret',
      'postern-at-forge',
      world.stripe.secretKey,
      ...world.stripe.webhookSecrets,
    ])
      expect(own).not.toContain(secret);
    expect((await readWith(keyOf('bare'))).body.providers).toEqual([]);
    expect(JSON.stringify((await readWith(keyOf('bare'))).body)).not.toContain('forge');
  });

  it.each([
    ['no key', undefined],
    ['an unknown key', 'pk_unknown_0123456789abcdef'],
  ])('S97: answers %s with 401', async (_, apiKey) => {
    const response = await fetch(`${world.gateways[0]?.address}/v1/me`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    });
    expectProblem(
      { status: response.status, headers: response.headers, body: await response.json() },
      'unauthenticated',
    );
    expect(response.status).toBe(401);
  });

  it('tells a gate of @postern/mcp whether its calls can succeed', async () => {
    const url = world.gateways[0]?.address ?? '';
    const gateOf = (apiKey: string) => {
      const gate = postern({ url, apiKey, check: false });
      gate.tool({ accounts: { forge: {}, wiki: {} } }, () => ({ content: [] }));
      return gate;
    };
    const own = await gateOf(keyOf('tracker')).check();
    expect(own).toMatchObject({ faults: [{ code: 'provider_not_allowed' }], caller: { mcpServerId: 'tracker' } });
    const unknown = await gateOf('pk_unknown_0123456789abcdef').check();
    expect(unknown).toMatchObject({ faults: [{ code: 'unauthenticated' }] });
  });

  it('refuses a query', async () => {
    expectProblem(await readWith(keyOf('tracker'), '?mcpServerId=canary-id'), 'invalid_request');
  });

  it('shows the new configuration after a reload', async () => {
    const changed = (change: Partial<GatewayConfigInput['mcpServers'][number]>): GatewayConfigInput => ({
      ...world.config,
      providers: (world.config.providers ?? []).map(provider => ({
        ...Object(provider),
        displayName: 'Renamed Forge',
      })),
      mcpServers: world.config.mcpServers.map(server => (server.id === 'bare' ? { ...server, ...change } : server)),
    });
    const [gateway] = world.gateways;
    await gateway?.reload(() => parseConfig(changed({ name: 'Renamed', providers: ['forge'], kinds: ['credential'] })));
    expect((await readWith(keyOf('bare'))).body).toMatchObject({
      name: 'Renamed',
      kinds: ['credential'],
      providers: [{ name: 'forge', displayName: 'Renamed Forge' }],
    });
    await gateway?.reload(() => parseConfig(world.config));
    expect((await readWith(keyOf('bare'))).body).toMatchObject({ kinds: ['form'], providers: [] });
  });
});
