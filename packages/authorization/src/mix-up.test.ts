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
  ['with iss', true, false],
  ['without iss', false, false],
  ['with iss and metadataUrl', true, true],
  ['without iss, with metadataUrl', false, true],
])('A6, T4, S194: a hostile provider that sends the browser to an honest one, %s', (_, issParameter, isPlaced) => {
  const at = (issuer: string, clientId: string) => {
    const metadataUrl = `${issuer}/.well-known/openid-configuration`;
    return providerFrom({ issuer, ...(isPlaced && { metadataUrl }), clientId, clientSecret }, { fetch });
  };
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
    return { evil, provider: at(evil.issuer, clientId) };
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
    const atHonest = at(honest.issuer, 'shared');
    const start = await atHonest.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const finished = finish(provider, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
    expect((await failureOf(finished, [start.codeVerifier])).code).toBe('issuer_mismatch');
    expect(evil.requests('token')).toHaveLength(0);
  });
});

it('S194: a hostile provider cannot become the issuer of an honest one, wherever its metadata is', async () => {
  await using evil = await startEvilProvider({ clientId: 'postern' });
  const metadataUrl = `${evil.issuer}/organizations/.well-known/openid-configuration`;
  for (const issuer of ['https://honest.example', `${evil.issuer}/{tenantid}`, `${evil.issuer}/tenant/`]) {
    evil.metadata['issuer'] = issuer;
    const provider = providerFrom({ issuer: `${evil.issuer}/tenant`, metadataUrl, clientSecret }, { fetch });
    expect((await failureOf(provider.start({ redirectUri, state, scopes: [] }))).code).toBe('metadata_mismatch');
  }
});

describe('S194: a multi-tenant provider', () => {
  const tenant = '11111111-2222-4333-8444-555555555555';
  /** A provider whose ID tokens and callbacks name this tenant. */
  async function connected(tid: string, tenants?: string[]) {
    const evil = await startEvilProvider({ clientId: 'postern' });
    const template = `${evil.issuer}/{tenantid}/v2.0`;
    const iss = template.replace('{tenantid}', tid);
    const { idTokenClaims } = evil;
    evil.metadata['issuer'] = template;
    evil.authorizationResponse = query => ({ code: 'x', state: query.get('state') ?? undefined, iss });
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), iss, tid });
    const metadataUrl = `${evil.issuer}/organizations/.well-known/openid-configuration`;
    const account = { from: 'id_token' } as const;
    const members = { issuer: template, metadataUrl, clientSecret, baseScopes: ['openid'] };
    const changes = tenants === undefined ? members : { ...members, tenants, account };
    return { evil, template, provider: providerFrom(changes, { fetch }) };
  }

  it('connects an account of an allowed tenant, and binds the grant to the configured text', async () => {
    const { evil, template, provider } = await connected(tenant, [tenant]);
    await using _ = evil;
    expect(await connect(provider)).toMatchObject({ issuer: template, account: { id: 'alice' } });
  });

  it('refuses the callback of another tenant', async () => {
    const { evil, provider } = await connected('9188040d-6c67-4c5b-b112-36a304b66dad', [tenant]);
    await using _ = evil;
    expect((await failureOf(connect(provider))).code).toBe('issuer_mismatch');
  });

  it('refuses the ID token of another tenant', async () => {
    const { evil, provider } = await connected('9188040d-6c67-4c5b-b112-36a304b66dad', [tenant]);
    await using _ = evil;
    evil.metadata['authorization_response_iss_parameter_supported'] = undefined;
    evil.authorizationResponse = query => ({ code: 'x', state: query.get('state') ?? undefined });
    expect(await failureOf(connect(provider))).toMatchObject({ code: 'invalid_id_token', claim: 'iss' });
  });

  it('without tenants ignores ID tokens, which it cannot verify', async () => {
    const { evil, provider } = await connected(tenant);
    await using _ = evil;
    evil.metadata['authorization_response_iss_parameter_supported'] = undefined;
    evil.authorizationResponse = query => ({ code: 'x', state: query.get('state') ?? undefined });
    const grant = await connect(provider);
    expect(grant).not.toHaveProperty('idToken');
    expect(evil.lastAuthorization.has('nonce')).toBe(false);
  });
});

it('S194: a grant keeps the configured text of its issuer, also when the metadata adds a slash', async () => {
  await using evil = await startEvilProvider({ clientId: 'postern' });
  const before = await connect(providerFrom({ issuer: evil.issuer, clientSecret }, { fetch }));
  evil.metadata['issuer'] = `${evil.issuer}/`;
  evil.authorizationResponse = query => ({ code: 'x', state: query.get('state') ?? undefined, iss: `${evil.issuer}/` });
  const provider = providerFrom({ issuer: evil.issuer, clientSecret }, { fetch });
  const after = await connect(provider);
  expect([before.issuer, after.issuer]).toEqual([evil.issuer, evil.issuer]);
  expect(await provider.refresh({ ...before, refreshToken: 'r', redirectUri })).toHaveProperty('accessToken');
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
    // Nothing says which client it was.
    const finished = finish(by('other'), { ...(await comeBack()), redirectUri, clientId: undefined });
    expect(await failureOf(finished)).toMatchObject({ code: 'provider_error', providerError: 'invalid_grant' });
    const { refreshToken = '' } = await connect(by('postern'));
    const refreshOf = (clientId: string | undefined) =>
      by('other').refresh({ refreshToken, scopes: ['repo'], redirectUri, issuer: op.issuer, clientId });
    op.clearRequests();
    const gone = await failureOf(refreshOf('postern'), [refreshToken]);
    expect([gone.code, op.requests('token')]).toEqual(['client_gone', []]);
    expect((await failureOf(refreshOf(undefined), [refreshToken])).code).toBe('grant_refused');
  });
});
