import {
  driveAuthorization,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { connectBy, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';

const { clientSecret, state } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());

const honestRedirectUri = new URL('http://127.0.0.1:1/callback/issues/honest');

describe.each([
  ['with iss', true],
  ['without iss', false],
])('A6, T4: a hostile provider that sends the browser to an honest one, %s', (_, issParameter) => {
  let honest: TestProvider;
  beforeAll(async () => {
    honest = await startOpenIdProvider({
      issParameter,
      scopes: ['repo'],
      clients: [
        { clientId: 'postern', clientSecret, redirectUris: [honestRedirectUri.href] },
        // A mistake of the operator: one client with the redirect URIs of two providers.
        { clientId: 'shared', clientSecret, redirectUris: [honestRedirectUri.href, redirectUri.href] },
      ],
    });
  });
  beforeEach(() => honest.clearRequests());
  afterAll(() => honest.close());

  async function hostile(clientId: string) {
    const evil = await startEvilProvider({ clientId });
    evil.metadata['authorization_endpoint'] = `${honest.issuer}/auth`;
    return { evil, provider: providerFrom({ issuer: evil.issuer, clientId, clientSecret }, { fetch }) };
  }

  it('receives no code, because its redirect URI is not registered there', async () => {
    const { evil, provider } = await hostile('postern');
    await using _evil = evil;
    await expect(connect(provider)).rejects.toThrow();
    expect(honest.issued).toHaveLength(0);
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('receives no code even with a shared redirect URI, because iss differs or is missing', async () => {
    const { evil, provider } = await hostile('shared');
    await using _evil = evil;
    const error = await failureOf(connect(provider));
    expect([error.code, error.providerError]).toEqual(['issuer_mismatch', undefined]);
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('receives no code of a transaction with the honest provider', async () => {
    const { evil, provider } = await hostile('shared');
    await using _evil = evil;
    const atHonest = providerFrom({ issuer: honest.issuer, clientId: 'shared', clientSecret }, { fetch });
    const start = await atHonest.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const finished = finish(provider, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
    expect((await failureOf(finished, [start.codeVerifier])).code).toBe('issuer_mismatch');
    expect(evil.requests('token')).toHaveLength(0);
  });
});

describe('A6: two clients at one issuer, which iss cannot distinguish', () => {
  const otherRedirectUri = new URL('http://127.0.0.1:1/callback/issues/other');
  let op: TestProvider;
  beforeAll(async () => {
    op = await startOpenIdProvider({
      issParameter: true,
      scopes: ['repo'],
      clients: [
        { clientId: 'postern', clientSecret, redirectUris: [redirectUri.href] },
        { clientId: 'other', clientSecret, redirectUris: [otherRedirectUri.href] },
      ],
    });
  });
  beforeEach(() => op.clearRequests());
  afterAll(() => op.close());

  const by = (clientId: string) => providerFrom({ issuer: op.issuer, clientId, clientSecret }, { fetch });
  async function comeBack() {
    const start = await by('postern').start({ redirectUri, state, scopes: ['repo'] });
    return {
      ...start,
      callbackUrl: await driveAuthorization(start.authorizationUrl, 'alice'),
      state,
      scopes: ['repo'],
    };
  }

  it('one client refuses the callback of the other by its path', async () => {
    const finished = finish(by('other'), { ...(await comeBack()), redirectUri: otherRedirectUri });
    expect((await failureOf(finished)).code).toBe('invalid_callback');
    expect(op.requests('token')).toHaveLength(0);
  });

  it('the provider rejects the code and the refresh token of another client', async () => {
    const finished = finish(by('other'), { ...(await comeBack()), redirectUri });
    expect(await failureOf(finished)).toMatchObject({ code: 'provider_error', providerError: 'invalid_grant' });
    const { refreshToken = '' } = await connect(by('postern'));
    const refresh = by('other').refresh({ refreshToken, scopes: ['repo'], redirectUri, issuer: op.issuer });
    expect((await failureOf(refresh, [refreshToken])).code).toBe('grant_refused');
  });
});
