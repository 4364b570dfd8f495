import {
  driveAuthorization,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectBy, providerFrom, redirectUri } from './connect-fixture.ts';
import { canaries, failureOf } from './failure-of.ts';
import { createOutboundFetch } from './outbound-fetch.ts';

const { clientSecret, state } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());

const honestRedirectUri = new URL('http://127.0.0.1:1/callback/issues/honest');

describe.each([
  ['with iss', true],
  ['without iss', false],
])('A6, T4: a provider that sends the browser to an honest one, %s', (_, issParameter) => {
  let honest: TestProvider;
  beforeAll(async () => {
    honest = await startOpenIdProvider({
      issParameter,
      scopes: ['repo'],
      clients: [
        { clientId: 'postern', clientSecret, redirectUris: [honestRedirectUri.href] },
        // Registered so that both callbacks are good, which no operator should do.
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

  it('gets no code: its redirect URI is its own', async () => {
    const { evil, provider } = await hostile('postern');
    await using _evil = evil;
    await expect(connect(provider)).rejects.toThrow();
    expect(honest.issued).toHaveLength(0);
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('gets no code where even the redirect URI is shared: iss is another, or missing though promised', async () => {
    const { evil, provider } = await hostile('shared');
    await using _evil = evil;
    const error = await failureOf(connect(provider));
    expect([error.code, error.providerError]).toEqual(['issuer_mismatch', undefined]);
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('gets no code of a transaction with the honest one', async () => {
    const { evil, provider } = await hostile('shared');
    await using _evil = evil;
    const atHonest = providerFrom({ issuer: honest.issuer, clientId: 'shared', clientSecret }, { fetch });
    const start = await atHonest.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const finish = provider.finish({ ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
    expect((await failureOf(finish, [start.codeVerifier])).code).toBe('issuer_mismatch');
    expect(evil.requests('token')).toHaveLength(0);
  });
});

describe('A6: two clients at one issuer, which iss cannot tell apart', () => {
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

  it('the callback of one is none of the other: the path is', async () => {
    const finish = by('other').finish({ ...(await comeBack()), redirectUri: otherRedirectUri });
    expect((await failureOf(finish)).code).toBe('invalid_callback');
    expect(op.requests('token')).toHaveLength(0);
  });

  it('neither code nor refresh token of one is good with the other', async () => {
    const finish = by('other').finish({ ...(await comeBack()), redirectUri });
    expect(await failureOf(finish)).toMatchObject({ code: 'provider_error', providerError: 'invalid_grant' });
    const { refreshToken = '' } = await connect(by('postern'));
    const refresh = by('other').refresh({ refreshToken, scopes: ['repo'], redirectUri, issuer: op.issuer });
    expect((await failureOf(refresh, [refreshToken])).code).toBe('grant_refused');
  });
});
