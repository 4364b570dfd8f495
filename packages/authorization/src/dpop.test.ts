import { createHash } from 'node:crypto';
import {
  driveAuthorization,
  driveDevice,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, EmbeddedJWK, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dpopThumbprint, newDpopKey } from './dpop.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, held, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureCodeOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';

const { state, clientSecret } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());

describe.each([
  ['without a nonce', false],
  ['with a nonce', true],
])('S23, T8: DPoP at a real provider, %s', (_, dpopNonce) => {
  let op: TestProvider;
  beforeAll(async () => {
    op = await startOpenIdProvider({
      dpop: 'offered',
      dpopNonce,
      pushedAuthorization: 'offered',
      deviceFlow: true,
      scopes: ['repo'],
      clients: [
        { clientId: 'postern', clientSecret, redirectUris: [redirectUri.href], dpopBound: true },
        { clientId: 'public', redirectUris: [redirectUri.href], dpopBound: true },
      ],
    });
  });
  beforeEach(() => op.clearRequests());
  afterAll(() => op.close());

  const provider = (changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom(
      { issuer: op.issuer, dpop: 'required', ...(!changes.clientId && { clientSecret }), ...changes },
      { fetch },
    );

  it.each(['auto', 'off'] as const)(
    'code, token and refresh are bound to one key (PAR %s)',
    async pushedAuthorization => {
      const at = provider({ pushedAuthorization });
      const grant = await connect(at);
      const { dpopKey = {} } = grant;
      const jkt = await dpopThumbprint(dpopKey);
      expect(grant.tokenType).toBe('dpop');
      expect(op.tokens.accessToken(grant.accessToken)).toMatchObject({ jkt });
      const [asked] = op.requests(pushedAuthorization === 'off' ? 'authorization' : 'pushed_authorization_request');
      expect(asked?.form['dpop_jkt'] ?? asked?.url.searchParams.get('dpop_jkt')).toBe(jkt);

      const refreshed = await at.refresh(held(grant));
      expect(refreshed.tokenType).toBe('dpop');
      expect(op.tokens.accessToken(refreshed.accessToken)).toMatchObject({ jkt });
      expect(op.requests('token')).toHaveLength(dpopNonce ? 4 : 2);
      for (const { headers } of op.requests('token')) {
        const { jwk, alg, typ } = decodeProtectedHeader(String(headers['dpop']));
        expect([alg, typ, jwk && (await calculateJwkThumbprint(jwk))]).toEqual(['ES256', 'dpop+jwt', jkt]);
        expect(jwk).not.toHaveProperty('d');
      }
      const proofs = op.requests('token').map(({ headers }) => decodeJwt(String(headers['dpop'])).jti);
      expect(new Set(proofs).size).toBe(proofs.length);
    },
  );

  it('each authorization creates its own key', async () => {
    const at = provider();
    const request = { redirectUri, state, scopes: ['repo'] };
    const [one, other] = [await at.start(request), await at.start(request)];
    expect(one.dpopKey).not.toEqual(other.dpopKey);
  });

  it('the exchange fails with the key of another authorization', async () => {
    const at = provider();
    const start = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const stolen = { ...start, dpopKey: await newDpopKey(), callbackUrl, redirectUri, state, scopes: ['repo'] };
    expect(await failureCodeOf(finish(at, stolen), [String(start.dpopKey?.['d'])])).toBe('provider_error');
  });

  it('the refresh of a public client fails without its key', async () => {
    const at = provider({ clientId: 'public' });
    const { dpopKey: _key, ...grant } = await connect(at);
    for (const attempt of [held(grant), { ...held(grant), dpopKey: await newDpopKey() }]) {
      expect(['provider_error', 'grant_refused']).toContain(await failureCodeOf(at.refresh(attempt)));
    }
  });

  it('the userinfo request carries a proof for the bound token', async () => {
    const at = provider({ account: { from: 'userinfo' }, baseScopes: ['openid'] });
    expect((await connect(at)).account).toEqual({ id: 'alice' });
  });

  it('the API accepts our proof', async () => {
    const at = provider({ baseScopes: ['openid'] });
    const { accessToken, dpopKey = {} } = await connect(at);
    const ask = async (nonce?: string) => {
      const proof = { dpopKey, accessToken, method: 'get', url: `${op.issuer}/me?a=b#c`, ...(nonce && { nonce }) };
      const dpop = await at.dpopProof(proof);
      return fetch(`${op.issuer}/me`, { headers: { authorization: `DPoP ${accessToken}`, dpop } });
    };
    const first = await ask();
    const answer = dpopNonce ? await ask(first.headers.get('dpop-nonce') ?? '') : first;
    expect([answer.status, await answer.json()]).toMatchObject([200, { sub: 'alice' }]);
  });

  it('the device flow issues bound tokens', async () => {
    const at = provider({ clientId: 'public', flow: 'device' });
    const { dpopKey = {}, ...device } = await at.startDevice({ redirectUri, scopes: ['repo'] });
    expect(await driveDevice(device, 'alice')).toBe('approved');
    const poll = await at.pollDevice({ ...device, dpopKey, redirectUri, scopes: ['repo'] });
    if (poll.result !== 'granted') throw new Error(poll.result);
    expect(poll.grant).toMatchObject({ tokenType: 'dpop', scopes: ['repo'], dpopKey, issuer: op.issuer });
  });

  it('a revocation ends the grant', async () => {
    const at = provider();
    const grant = await connect(at);
    expect(await at.revoke(held(grant))).toBe('revoked');
    expect(op.tokens.isLive(grant.accessToken)).toBe(false);
  });
});

describe('S23: a provider without working DPoP', () => {
  it.each([
    ['a bearer token type', { body: { access_token: 'x', token_type: 'Bearer' } }],
    ['no token type', { body: { access_token: 'x' } }],
  ])('%s → refused at exchange and refresh', async (_, answer) => {
    await using evil = await startEvilProvider({ clientId: 'postern' });
    const at = providerFrom({ issuer: evil.issuer, clientSecret, dpop: 'required' }, { fetch });
    evil.tokenAnswer = () => answer;
    expect(await failureCodeOf(connect(at))).toBe('invalid_token_response');
    const origin = { redirectUri, issuer: evil.issuer, clientId: 'postern' };
    const refresh = { refreshToken: 'x', scopes: [], ...origin, dpopKey: await newDpopKey() };
    expect(await failureCodeOf(at.refresh(refresh))).toBe('invalid_token_response');
  });

  it('the gateway repeats a request only once if every nonce is rejected', async () => {
    await using evil = await startEvilProvider({ clientId: 'postern' });
    const at = providerFrom({ issuer: evil.issuer, clientSecret, dpop: 'required' }, { fetch });
    let nonce = 0;
    evil.tokenAnswer = () => {
      nonce += 1;
      return { status: 400, headers: { 'dpop-nonce': `nonce-${nonce}` }, body: { error: 'use_dpop_nonce' } };
    };
    expect(await failureCodeOf(connect(at))).toBe('provider_error');
    expect(evil.requests('token')).toHaveLength(2);
    const proofs = evil.requests('token').map(({ headers }) => decodeJwt(String(headers['dpop']))['nonce']);
    expect(proofs).toEqual([undefined, 'nonce-1']);
  });

  it('start fails if the provider accepts only keys of other types', async () => {
    await using evil = await startEvilProvider({ clientId: 'postern' });
    evil.metadata['dpop_signing_alg_values_supported'] = ['RS256'];
    const at = providerFrom({ issuer: evil.issuer, clientSecret, dpop: 'required' }, { fetch });
    expect(await failureCodeOf(at.start({ redirectUri, state, scopes: [] }))).toBe('dpop_unsupported');
  });

  it('an exchange without the key of the start throws a TypeError', async () => {
    await using evil = await startEvilProvider({ clientId: 'postern' });
    const at = providerFrom({ issuer: evil.issuer, clientSecret, dpop: 'required' }, { fetch });
    const origin = { redirectUri, expectedIssuer: evil.issuer, clientId: 'postern' };
    await expect(at.exchange({ ...canaries, ...origin, scopes: [] })).rejects.toThrow(TypeError);
    expect(evil.requests('token')).toHaveLength(0);
  });
});

describe('dpopProof', () => {
  const now = Date.UTC(2026, 0, 1);
  const at = providerFrom(
    { authorizationEndpoint: 'https://as.example/auth', tokenEndpoint: 'https://as.example/token' },
    { fetch, now: () => now },
  );

  it('contains the claims of RFC 9449 section 4.2, with the time of our clock', async () => {
    const dpopKey = await newDpopKey();
    const proof = { dpopKey, accessToken: canaries.accessToken, method: 'post', url: 'https://api.example/a?b=c#d' };
    const one = await at.dpopProof({ ...proof, nonce: 'n' });
    const { payload } = await jwtVerify(one, EmbeddedJWK, { currentDate: new Date(now), typ: 'dpop+jwt' });
    const { jti, ...claims } = payload;
    expect(claims).toEqual({
      htm: 'POST',
      htu: 'https://api.example/a',
      ath: createHash('sha256').update(canaries.accessToken).digest('base64url'),
      nonce: 'n',
      iat: now / 1000,
    });
    expect(decodeJwt(await at.dpopProof(proof)).jti).not.toBe(jti);
  });

  it('refuses keys that newDpopKey did not create', async () => {
    const { d: _, ...publicKey } = await newDpopKey();
    for (const dpopKey of [publicKey, {}, { kty: 'oct', k: 'x' }]) {
      const proof = { dpopKey, accessToken: 'x', method: 'GET', url: 'https://api.example' };
      await expect(at.dpopProof(proof)).rejects.toThrow(TypeError);
      const refresh = { refreshToken: 'x', scopes: [], redirectUri, issuer: undefined, clientId: 'postern', dpopKey };
      await expect(at.refresh(refresh)).rejects.toThrow(TypeError);
    }
  });
});
