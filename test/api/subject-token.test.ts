import { createHash, randomBytes } from 'node:crypto';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { postern } from '@postern/mcp';
import { postern as posternV1 } from '@postern/mcp/v1';
import {
  createCookieJar,
  driveAuthorization,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { dumpStore } from '../support/store-dump.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

const AUDIENCE = 'http://localhost:7001/mcp';
const CLIENT = {
  clientId: 'mcp-client',
  clientSecret: 'mcp-client-secret',
  redirectUris: ['http://localhost:7002/cb'],
};

let world: World;
let stranger: TestProvider;

const clientsOf = (publicUrl: string) => [
  {
    clientId: 'postern',
    clientSecret: 'postern-login-secret',
    redirectUris: [`${publicUrl}/login/callback/example-id`],
  },
  CLIENT,
];

beforeAll(async () => {
  world = await startWorld({ identityProvider: { clients: clientsOf('http://localhost:1') } });
  stranger = await startOpenIdProvider({ clients: [CLIENT], consent: 'skip', accessTokenFormat: 'jwt' });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await stranger?.[Symbol.asyncDispose]();
});

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
}

/** Gets an access token like an MCP client: authorization code flow with a resource indicator (RFC 8707). */
async function tokensFor(provider: TestProvider, user: string, resource: string): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL('/auth', provider.issuer);
  url.search = new URLSearchParams({
    client_id: CLIENT.clientId,
    response_type: 'code',
    redirect_uri: CLIENT.redirectUris[0] ?? '',
    scope: 'openid',
    resource,
    code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  }).toString();
  const callback = await driveAuthorization(url, user, { jar: createCookieJar() });
  const answer = await fetch(new URL('/token', provider.issuer), {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${CLIENT.clientId}:${CLIENT.clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      redirect_uri: CLIENT.redirectUris[0] ?? '',
      resource,
      code_verifier: verifier,
    }),
  });
  if (!answer.ok) throw new Error(`the provider answered ${answer.status}`);
  return (await answer.json()) as Tokens;
}

const askOf = (accessToken: string) => ({
  kind: 'authorization',
  subject: { accessToken },
  authorization: { provider: 'forge', scopes: ['repo'] },
});
const issueWith = (accessToken: string) =>
  world.api.call<{ elicitationId: string }>('POST', '/v1/elicitations', askOf(accessToken));

describe('S05: a subject named by an access token', () => {
  it('equals the subject named by issuer and sub', async () => {
    const { access_token } = await tokensFor(world.identityProvider, 'alice', AUDIENCE);
    const byToken = await issueWith(access_token);
    expectInContract('issueElicitation', byToken);
    expect(byToken.status).toBe(201);
    const byName = await world.api.issue({
      kind: 'authorization',
      subject: { issuer: world.identityProvider.issuer, subject: 'alice' },
      authorization: { provider: 'forge', scopes: ['repo'] },
    });
    expect(byName).toMatchObject({ status: 200, body: { elicitationId: byToken.body.elicitationId } });
    const dump = JSON.stringify(await dumpStore(world));
    expect(dump).not.toContain(access_token);
    expect(dump).not.toContain(access_token.split('.')[2]);
    expect(world.log()).not.toContain(access_token.split('.')[2]);
  });

  it('may come with a renewed token in a retry under the same Idempotency-Key', async () => {
    const withToken = async () => {
      const { access_token } = await tokensFor(world.identityProvider, 'bob', AUDIENCE);
      const headers = { 'idempotency-key': 'renewed-token' };
      return world.api.call<{ elicitationId: string }>('POST', '/v1/elicitations', askOf(access_token), headers);
    };
    const first = await withToken();
    expect(await withToken()).toMatchObject({ status: 201, body: { elicitationId: first.body.elicitationId } });
  });

  it('with both forms at once is refused', async () => {
    const answer = await world.api.call('POST', '/v1/elicitations', {
      kind: 'authorization',
      subject: { issuer: world.identityProvider.issuer, subject: 'alice', accessToken: 'x' },
      authorization: { provider: 'forge' },
    });
    expectProblem(answer, 'invalid_request');
  });

  it('for another audience is refused', async () => {
    const { access_token } = await tokensFor(world.identityProvider, 'alice', 'http://localhost:7009/mcp');
    expectProblem(await issueWith(access_token), 'subject_token_invalid');
  });

  it('of an issuer that this MCP server may not name is refused', async () => {
    const { access_token } = await tokensFor(stranger, 'alice', AUDIENCE);
    const answer = await issueWith(access_token);
    expectInContract('issueElicitation', answer);
    expectProblem(answer, 'issuer_not_allowed');
  });

  it('by an ID token is refused', async () => {
    const { id_token } = await tokensFor(world.identityProvider, 'alice', AUDIENCE);
    expectProblem(await issueWith(id_token), 'subject_token_invalid');
  });

  it('altered is refused', async () => {
    const { access_token } = await tokensFor(world.identityProvider, 'alice', AUDIENCE);
    const [header = '', payload = '', signature = ''] = access_token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const asBob = Buffer.from(JSON.stringify({ ...claims, sub: 'bob' })).toString('base64url');
    for (const token of [`${header}.${asBob}.${signature}`, `${header}.${payload}.`, `${header}.${payload}`])
      expectProblem(await issueWith(token), 'subject_token_invalid');
  });

  it('with a foreign signature in the name of the issuer is refused', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: world.identityProvider.issuer, sub: 'alice', aud: AUDIENCE, iat: now, exp: now + 60 };
    const kid = `key-of-${world.identityProvider.port}`;
    const signed = (header: object) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header }).sign(privateKey);
    for (const token of [
      await signed({ kid }),
      await signed({ kid: 'unknown' }),
      await signed({ jwk: await exportJWK(publicKey) }),
      new UnsecuredJWT(claims).encode(),
    ])
      expectProblem(await issueWith(token), 'subject_token_invalid');
  });

  it.each(['x', 'a.b.c', '..', 'x'.repeat(8192)])('that is garbage is refused, example %#', async token => {
    expectProblem(await issueWith(token), 'subject_token_invalid');
  });

  it('without an issuer is refused', async () => {
    expectProblem(await issueWith(new UnsecuredJWT({}).encode()), 'issuer_not_allowed');
  });

  it('longer than the contract allows is refused', async () => {
    expectProblem(await issueWith('x'.repeat(8193)), 'invalid_request');
  });

  it('that has expired is refused', async () => {
    const { access_token } = await tokensFor(world.identityProvider, 'bob', AUDIENCE);
    await using later = await startWorld({
      redisUrl: world.redis.url,
      config: ({ base }) => ({
        redis: { ...base.redis, prefix: 'later' },
        identityProviders: base.identityProviders?.map(provider => ({
          ...provider,
          issuer: world.identityProvider.issuer,
        })),
        mcpServers: base.mcpServers.map(server => ({ ...server, issuers: [world.identityProvider.issuer] })),
      }),
    });
    later.clock.pass(2 * 3600);
    const answer = await later.api.call('POST', '/v1/elicitations', {
      kind: 'authorization',
      subject: { accessToken: access_token },
      authorization: { provider: 'forge' },
    });
    expectProblem(answer, 'subject_token_invalid');
  });

  it('whose issuer does not respond gets 502, and a retry works', async () => {
    await using fresh = await startWorld({ identityProvider: { clients: clientsOf('http://localhost:1') } });
    const { access_token } = await tokensFor(fresh.identityProvider, 'alice', AUDIENCE);
    const body = {
      kind: 'authorization',
      subject: { accessToken: access_token },
      authorization: { provider: 'forge' },
    };
    fresh.identityProvider.fault({ endpoint: 'metadata', status: 503 });
    const failed = await fresh.api.call('POST', '/v1/elicitations', body);
    expectInContract('issueElicitation', failed);
    expectProblem(failed, 'upstream_unavailable');
    fresh.identityProvider.clearFaults();
    expect((await fresh.api.call('POST', '/v1/elicitations', body)).status).toBe(201);
  });
});

describe.each(['v2', 'v1'] as const)('S256: an endpoint with `auth: true` (SDK %s)', sdk => {
  /** The status of an initialization with this token, and what a tool that asks answers. */
  async function callWith(token: string): Promise<{ readonly status: number; readonly text: string }> {
    const url = world.gateways[0]?.address ?? '';
    const options = { url, apiKey: keyOf('tracker'), holdMs: 0, check: false } as const;
    const info = { name: 'issues', version: '1.0.0' };
    const gate = sdk === 'v1' ? posternV1(options) : postern(options);
    const create = () => {
      const server = sdk === 'v1' ? new McpServerV1(info) : new McpServer(info);
      const ask = Reflect.apply(gate.tool, gate, [
        async (_args: unknown, ctx: { gate: { confirm(title: string): Promise<unknown> } }) => {
          await ctx.gate.confirm('Close all issues?');
          return { content: [] };
        },
      ]);
      Reflect.apply(server.registerTool, server, ['close', {}, ask]);
      return server;
    };
    const mcp: ReturnType<ReturnType<typeof postern>['endpoint']> = Reflect.apply(gate.endpoint, gate, [
      create,
      { auth: true },
    ]);
    const send = (method: string, params: object, session: Record<string, string> = {}) =>
      mcp.fetch(
        new Request('http://localhost:7001/mcp', {
          method: 'POST',
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: `Bearer ${token}`,
            ...session,
          },
        }),
      );
    try {
      const opened = await send('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'host', version: '1.0.0' },
      });
      await opened.text();
      if (opened.status !== 200) return { status: opened.status, text: '' };
      const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
      const called = await send('tools/call', { name: 'close', arguments: {} }, session);
      return { status: opened.status, text: await called.text() };
    } finally {
      await mcp.close();
      gate.close();
    }
  }

  it('accepts an access token for it, and asks its user', async () => {
    const { access_token } = await tokensFor(world.identityProvider, 'alice', AUDIENCE);
    const { status, text } = await callWith(access_token);
    expect(status).toBe(200);
    expect(text).toContain(world.publicUrl);
  });

  it('refuses tokens for others, of others, and ID tokens', async () => {
    const mine = await tokensFor(world.identityProvider, 'alice', AUDIENCE);
    const elsewhere = await tokensFor(world.identityProvider, 'alice', 'http://localhost:7009/mcp');
    const foreign = await tokensFor(stranger, 'alice', AUDIENCE);
    for (const token of [mine.id_token, elsewhere.access_token, foreign.access_token])
      expect(await callWith(token)).toMatchObject({ status: 401 });
  });
});
