import type { GatewayConfigInput } from '@postern/gateway';
import { startOddProvider, type TestClient } from '@postern/testkit/providers';
import { exportJWK, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { connected, connectionIdOf, textOf } from '../support/connections.ts';
import { dumpStore } from '../support/store-dump.ts';
import { expireAccessToken } from '../support/token-expiry.ts';
import { askFor, freePort, startWorld, type World, type WorldOptions } from '../support/world.ts';

interface DepthOptions {
  readonly provider?: WorldOptions['provider'];
  /** The gateway's registration at the provider. Default: with a secret. */
  readonly oauthClient?: Pick<TestClient, 'jwks' | 'dpopBound'>;
  /** Overrides of the provider's configuration at the gateway; `undefined` removes a member. */
  readonly config?: Record<string, unknown>;
}

/** A world with one provider and detailed configuration. */
async function startDepth({ provider, oauthClient = {}, config }: DepthOptions): Promise<World> {
  const publicUrl = `http://localhost:${await freePort()}`;
  return startWorld({
    publicUrl,
    provider: {
      clients: [
        {
          clientId: 'postern-at-forge',
          ...(oauthClient.jwks === undefined ? { clientSecret: 'forge-client-secret' } : {}),
          redirectUris: [`${publicUrl}/callback/tracker/forge`],
          ...oauthClient,
        },
      ],
      ...provider,
    },
    config: ({ base }): Partial<GatewayConfigInput> => ({
      providers: (base.providers ?? []).map(each => without(Object.assign({}, each, config))),
    }),
  });
}

const without = (provider: object): object =>
  Object.fromEntries(Object.entries(provider).filter(([, value]) => value !== undefined));

describe('S18: pushed authorization requests (RFC 9126)', () => {
  it('is used without configuration if the provider offers it', async () => {
    await using world = await startDepth({ provider: { pushedAuthorization: 'offered' } });
    await connected(world, { user: world.subject() });
    expect(world.provider.requests('pushed_authorization_request')).toHaveLength(1);
  });

  it('sends only a reference through the browser if required, and changes in the browser are ignored or rejected', async () => {
    await using world = await startDepth({
      provider: { pushedAuthorization: 'required' },
      config: { pushedAuthorization: 'required' },
    });
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    const outcomes: Record<string, 'refused' | 'no effect'> = {};
    for (const [name, value] of Object.entries({
      scope: 'openid profile repo issues',
      redirect_uri: 'https://evil.example/callback',
      response_mode: 'fragment',
      response_type: 'code id_token',
      state: 'st_of-somebody-else',
      nonce: 'x',
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'plain',
    })) {
      const destination = await raw.accept(elicitationId);
      expect([...destination.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
      destination.searchParams.set(name, value);
      const callback = await raw.decideAtProvider(destination, 'alice').catch(() => undefined);
      outcomes[name] = callback?.searchParams.has('code') === true ? 'no effect' : 'refused';
      if (callback === undefined) continue;
      expect(`${callback.origin}${callback.pathname}`).toBe(`${world.publicUrl}/callback/tracker/forge`);
      expect(callback.searchParams.get('state')).not.toBe('st_of-somebody-else');
      expect(callback.hash).toBe('');
    }
    expect(outcomes).toMatchObject({ scope: 'no effect', state: 'no effect' });
    expect(world.provider.requests('token')).toEqual([]);

    // The last attempt, with a changed scope: the code is valid for the pushed request.
    const destination = await raw.accept(elicitationId);
    destination.searchParams.set('scope', 'openid profile repo issues');
    await raw.get(await raw.decideAtProvider(destination, 'alice'));
    const { body } = await world.api.read(elicitationId);
    expect(body.status).toBe('completed');
    expect(body.outcome?.scopes).not.toContain('issues');
  });

  it('sends no user to a provider that does not offer it if required', async () => {
    await using world = await startDepth({ config: { pushedAuthorization: 'required' } });
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    const form = await raw.acceptForm(elicitationId);
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(502);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    expect(world.provider.requests('authorization')).toEqual([]);
  });
});

describe('S21: private_key_jwt', () => {
  it('uses the issuer as the only audience everywhere and does not expose the key', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const publicJwk = { ...(await exportJWK(publicKey)), kid: 'postern-2026', alg: 'ES256', use: 'sig' };
    const privateJwk = { ...(await exportJWK(privateKey)), kid: 'postern-2026' };
    await using world = await startDepth({
      provider: { assertionAudience: 'issuer', pushedAuthorization: 'offered' },
      oauthClient: { jwks: { keys: [publicJwk] } },
      config: { clientSecret: undefined, clientKey: JSON.stringify(privateJwk) },
    });
    const { connectionId } = await connected(world, { user: world.subject() });
    await expireAccessToken(world, connectionId);
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
    expect(world.provider.requests('token')).toHaveLength(2);
    expect((await world.api.remove(connectionId)).body.revocation).toBe('revoked');

    const { provider } = world;
    const assertions = provider.assertions();
    expect([...new Set(assertions.map(({ endpoint }) => endpoint))].sort()).toEqual([
      'pushed_authorization_request',
      'revocation',
      'token',
    ]);
    for (const assertion of assertions)
      expect(assertion).toMatchObject({
        aud: provider.issuer,
        iss: 'postern-at-forge',
        sub: 'postern-at-forge',
        alg: 'ES256',
        kid: 'postern-2026',
      });
    expect(new Set(assertions.map(({ jti }) => jti)).size).toBe(assertions.length);
    expect(provider.secretsInQueries()).toEqual([]);

    // The gateway publishes keys only for its own registrations; this one is the operator's.
    const published = await world.raw().get('/oauth/keys/tracker/forge');
    expect(published.status).toBe(404);
    const secret = String(privateJwk.d);
    for (const sink of [published.body, world.log(), JSON.stringify(await dumpStore(world))])
      expect(sink.includes(secret)).toBe(false);
  });
});

describe('S23: DPoP (RFC 9449)', () => {
  it('binds the tokens to a key in the vault; the gateway signs each request of the tool, nonces included', async () => {
    await using world = await startDepth({
      provider: { dpop: 'offered', dpopNonce: true, accessTokenTtlSeconds: 120 },
      oauthClient: { dpopBound: true },
      config: { dpop: 'required' },
    });
    const { provider } = world;
    const { connectionId } = await connected(world, { user: world.subject() });
    const url = `${provider.origin}/api/me`;
    const take = async (nonce?: string, at = url) => {
      const { status, body } = await world.api.accessToken(connectionId, {
        dpop: { method: 'GET', url: at, nonce },
      });
      expect([status, body.tokenType]).toEqual([200, 'DPoP']);
      return { token: body.accessToken, proof: body.dpopProof ?? '' };
    };
    const call = (headers: Record<string, string>) => fetch(url, { headers });

    const first = await take();
    expect((await call({ authorization: `Bearer ${first.token}` })).status).toBe(401);
    expect((await call({ authorization: `DPoP ${first.token}` })).status).toBe(401);
    const challenged = await call({ authorization: `DPoP ${first.token}`, dpop: first.proof });
    expect([challenged.status, await challenged.json()]).toEqual([401, { error: 'use_dpop_nonce' }]);
    const nonce = challenged.headers.get('dpop-nonce') ?? '';
    const second = await take(nonce);
    const answered = await call({ authorization: `DPoP ${second.token}`, dpop: second.proof });
    expect([answered.status, await answered.json()]).toMatchObject([200, { account: 'alice' }]);
    // Each proof is valid for one request and one URL.
    expect((await call({ authorization: `DPoP ${second.token}`, dpop: second.proof })).status).toBe(401);
    const other = await take(nonce, `${provider.origin}/api/other`);
    expect((await call({ authorization: `DPoP ${other.token}`, dpop: other.proof })).status).toBe(401);

    // A refreshed token is bound to the same key.
    world.clock.ahead = 110_000;
    const renewed = await take(nonce);
    expect(renewed.token).not.toBe(first.token);
    const keys = [second, renewed].map(({ token }) => provider.tokens.accessToken(token)?.jkt);
    expect(keys[0]).toMatch(/^[\w-]{43}$/);
    expect(keys[1]).toBe(keys[0]);
    world.clock.ahead = 0;

    const proofHeader = JSON.parse(Buffer.from(second.proof.split('.')[0] ?? '', 'base64url').toString()) as {
      jwk: Record<string, string>;
    };
    expect(Object.keys(proofHeader.jwk).sort()).toEqual(['crv', 'kty', 'x', 'y']);
    const dump = JSON.stringify(await dumpStore(world));
    for (const sink of [dump, world.log()]) expect(sink.includes(proofHeader.jwk['x'] ?? '-')).toBe(false);
    expect((await world.api.remove(connectionId)).body.revocation).toBe('revoked');
  });

  it('creates no proof for an unbound token', async () => {
    await using world = await startDepth({});
    const { connectionId } = await connected(world, { user: world.subject() });
    const dpop = { method: 'GET', url: `${world.provider.origin}/api/me` };
    expect((await world.api.accessToken(connectionId, { dpop })).body.code).toBe('token_not_dpop_bound');
  });
});

describe('S15: iss in authorization responses (RFC 9207)', () => {
  const callbackWithout = async (world: World, name: string) => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    const had = callback.searchParams.has(name);
    callback.searchParams.delete(name);
    const before = world.provider.requests('token').length;
    await raw.get(callback);
    const exchanged = world.provider.requests('token').length - before;
    return { had, exchanged, status: (await world.api.read(elicitationId)).body.status };
  };

  it('rejects a callback without iss if the metadata promises it', async () => {
    await using world = await startDepth({ provider: { issParameter: true } });
    expect(await callbackWithout(world, 'iss')).toEqual({ had: true, exchanged: 0, status: 'pending' });
  });

  it('accepts a callback without iss if the metadata does not promise it, since redirect URIs are distinct', async () => {
    await using world = await startDepth({ provider: { issParameter: false } });
    expect(await callbackWithout(world, 'iss')).toEqual({ had: false, exchanged: 1, status: 'completed' });
  });

  it('rejects a callback without iss if the configuration requires it', async () => {
    await using world = await startDepth({ provider: { issParameter: false }, config: { requireIss: true } });
    expect(await callbackWithout(world, 'iss')).toEqual({ had: false, exchanged: 0, status: 'pending' });
  });
});

describe('a preset', () => {
  it('for GitHub handles its token responses, scope texts and implied scopes', async () => {
    const publicUrl = `http://localhost:${await freePort()}`;
    await using hub = await startOddProvider({
      style: 'github',
      clientId: 'postern-at-hub',
      clientSecret: 'hub-client-secret',
      redirectUris: [`${publicUrl}/callback/tracker/hub`],
    });
    await using world = await startWorld({
      publicUrl,
      mcpServer: { providers: ['hub'] },
      config: {
        providers: [
          {
            name: 'hub',
            preset: 'github',
            clientId: 'postern-at-hub',
            clientSecret: 'hub-client-secret',
            authorizationEndpoint: hub.endpoints.authorization,
            tokenEndpoint: hub.endpoints.token,
            deviceAuthorizationEndpoint: `${hub.origin}/login/device/code`,
            userinfoEndpoint: hub.endpoints.account,
            revocation: {
              endpoint: `${hub.origin}/applications/{clientId}/grant`,
              style: 'custom',
              method: 'DELETE',
              body: 'json',
              parameter: 'access_token',
              token: 'access_token',
              authentication: 'basic',
              reach: 'grant',
            },
          },
        ],
      },
    });
    const user = world.subject();
    const raw = world.raw();
    const asking = (...scopes: string[]) => ({ authorization: { provider: 'hub', scopes } });
    const { elicitationId } = await world.ask(user, asking('user', 'repo'));
    await raw.signIn(elicitationId, user);
    const page = textOf(await raw.get(`/e/${elicitationId}`));
    expect(page).toContain('Issue Tracker wants to use your GitHub account');
    expect(page).toContain('Read, change and delete content of your repositories, private ones too');
    const chinese = await raw.get(`/e/${elicitationId}`, { headers: { 'accept-language': 'zh-Hans' } });
    expect(chinese.body).toContain('读取、修改和删除您代码仓库的内容，包括私有仓库');
    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'octo'));
    const connectionId = await connectionIdOf(world.api, elicitationId);

    const taken = (await world.api.accessToken(connectionId)).body;
    expect(taken).toMatchObject({ accessToken: expect.stringMatching(/^gho_/), tokenType: 'Bearer' });
    expect(taken.expiresAt).toBeUndefined();
    expect(taken.apiHosts).toEqual(['api.github.com', 'uploads.github.com']);
    expect(taken.scopes).toEqual(expect.arrayContaining(['read:user', 'repo', 'user', 'user:email']));
    // A wider scope already implies it, so the user is not asked.
    const narrower = await world.api.issue(askFor(world, user, asking('read:user', 'public_repo')));
    expect(narrower).toMatchObject({ status: 200, body: { status: 'completed' } });
    const { issuer } = world.identityProvider;
    const { connections } = (await world.api.connections({ issuer, subject: user })).body;
    expect(connections).toMatchObject([{ account: { id: '583231', name: 'octo' }, status: 'usable' }]);
    expect((await world.api.remove(connectionId)).body.revocation).toBe('revoked');
    expect(hub.tokens.statusOf(taken.accessToken)).toBe('revoked');
  });
});
