import {
  driveAuthorization,
  type EvilProvider,
  honestTokens,
  listenHttp,
  startEvilProvider,
  untidyTokenAnswers,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { providerConfigSchema } from './presets/expand-preset.ts';
import { createProviderRegistry, type Provider } from './provider.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { providerFrom } from './testing/connect-fixture.ts';
import { canaries, failureCodeOf, failureOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';
import { withoutNetwork } from './testing/outbound-fetch-fixture.ts';

const redirectUri = new URL('http://127.0.0.1:1/callback/issues/tracker');
const { state, clientSecret, accessToken, description } = canaries;

let evil: EvilProvider;
const fetch = createOutboundFetch({ allowLoopback: true });
beforeEach(async () => {
  evil = await startEvilProvider({ clientId: 'postern' });
});
afterEach(() => evil.close());
afterAll(() => fetch.close());

function provider(changes: Partial<ProviderConfigInput> = {}): Provider {
  const config = providerConfigSchema.parse({
    name: 'tracker',
    displayName: 'Tracker',
    issuer: evil.issuer,
    clientId: 'postern',
    clientSecret,
    ...changes,
  });
  const found = createProviderRegistry({ providers: [config], fetch, now: Date.now }).get('tracker');
  if (!found) throw new Error('the registry does not know its provider');
  return found;
}

async function connect(at: Provider, scopes = ['repo']) {
  const start = await at.start({ redirectUri, state, scopes });
  const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
  return finish(at, { ...start, callbackUrl, redirectUri, state, scopes });
}

/** Returns the code with which the start fails, after requests for metadata only. */
async function startFailure(at: Provider): Promise<string> {
  const code = await failureCodeOf(at.start({ redirectUri, state, scopes: [] }));
  expect(evil.requests().every(({ endpoint }) => endpoint === 'metadata')).toBe(true);
  return code;
}

describe('S14: PKCE in the metadata', () => {
  it.each([
    ['no methods', undefined],
    ['methods without S256', ['plain']],
    ['an empty list of methods', []],
  ])('refuses metadata with %s', async (_, methods) => {
    evil.metadata['code_challenge_methods_supported'] = methods;
    expect(await startFailure(provider())).toBe('pkce_unsupported');
  });

  it('sends PKCE even if the metadata lists no methods and the operator opted out', async () => {
    evil.metadata['code_challenge_methods_supported'] = undefined;
    const at = provider({ allowMissingPkceMetadata: true });
    const { authorizationUrl } = await at.start({ redirectUri, state, scopes: [] });
    expect(authorizationUrl.searchParams.get('code_challenge_method')).toBe('S256');
    expect((await connect(at)).accessToken).toBe('evil-access-token');
  });

  it('T6: refuses metadata without S256 even if the operator opted out', async () => {
    evil.metadata['code_challenge_methods_supported'] = ['plain'];
    expect(await startFailure(provider({ allowMissingPkceMetadata: true }))).toBe('pkce_unsupported');
  });
});

describe('S15: iss in an authorization flow', () => {
  it.each([
    ['has another iss', 'https://other.example'],
    ['lacks the advertised iss', undefined],
  ])('N5: sends no token request if the response %s', async (_, iss) => {
    evil.authorizationResponse = query => ({ code: canaries.code, state: query.get('state') ?? undefined, iss });
    expect(await failureCodeOf(connect(provider()))).toBe('issuer_mismatch');
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('N5: exposes no text of an error response with another iss', async () => {
    evil.authorizationResponse = query => ({
      error: 'access_denied',
      error_description: description,
      state: query.get('state') ?? undefined,
      iss: `${evil.issuer}/`,
    });
    const error = await failureOf(connect(provider()));
    expect(error.code).toBe('issuer_mismatch');
    expect(error.providerError).toBeUndefined();
  });

  it('accepts a missing iss that is not advertised, unless the operator requires it', async () => {
    evil.metadata['authorization_response_iss_parameter_supported'] = undefined;
    evil.authorizationResponse = query => ({ code: canaries.code, state: query.get('state') ?? undefined });
    expect((await connect(provider())).accessToken).toBe('evil-access-token');
    expect(await failureCodeOf(connect(provider({ requireIss: true })))).toBe('issuer_mismatch');
  });

  it.each([
    ['another iss', { iss: 'https://other.example', code: canaries.code }],
    ['an iss with a slash', { iss: 'SLASH', code: canaries.code }],
    ['another iss and an error', { iss: 'https://other.example', error: 'access_denied' }],
    ['no iss', { code: canaries.code }],
    ['no iss and an error', { error: 'access_denied' }],
  ])('N5: with explicit endpoints and an issuer, refuses a response with %s', async (_, answer) => {
    const endpoints = { authorizationEndpoint: `${evil.issuer}/auth`, tokenEndpoint: `${evil.issuer}/token` };
    evil.authorizationResponse = query => ({
      state: query.get('state') ?? undefined,
      ...answer,
      ...('iss' in answer && { iss: answer.iss.replace('SLASH', `${evil.issuer}/`) }),
    });
    const error = await failureOf(connect(provider({ ...endpoints, requireIss: true })));
    expect([error.code, error.providerError]).toEqual(['issuer_mismatch', undefined]);
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('T4: requires iss if the metadata advertised it at the start, even if it no longer does', async () => {
    const at = provider();
    const start = await at.start({ redirectUri, state, scopes: [] });
    evil.metadata['authorization_response_iss_parameter_supported'] = false;
    const callbackUrl = new URL(`${redirectUri.href}?code=x&state=${state}`);
    const { expectedIssuer, issRequired } = start;
    const check = provider().validateCallback({
      callbackUrl,
      redirectUri,
      state,
      issRequired,
      expectedIssuer,
    });
    expect(await failureCodeOf(check)).toBe('issuer_mismatch');
  });
});

describe('S17 and T12: metadata', () => {
  it.each([
    ['of another issuer', 'https://other.example'],
    ['of an issuer that is not a URL', 'x'],
    ['of an issuer with two trailing slashes', 'SLASH'],
    ['of an issuer in another case', 'CASE'],
  ])('%s is refused', async (_, issuer) => {
    evil.metadata['issuer'] = issuer
      .replace('SLASH', `${evil.issuer}//`)
      .replace('CASE', evil.issuer.replace('localhost', 'LOCALHOST'));
    expect(await startFailure(provider())).toBe('metadata_mismatch');
    expect(await startFailure(provider({ discovery: 'oauth2' }))).toBe('metadata_mismatch');
  });

  it.each([
    ['is HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }],
    ['is truncated', { body: '{"issuer":"http' }],
    ['is an array', { body: '[]' }],
    ['has no issuer', { body: '{}' }],
    ['has a number as issuer', { body: '{"issuer":7}' }],
    ['N3: has a duplicate member', { body: '{"issuer":"https://other.example","issuer":"https://another.example"}' }],
    ['does not exist', { status: 404, body: '{}' }],
  ])('that %s is refused', async (_, answer) => {
    evil.metadataAnswer = () => answer;
    expect(await startFailure(provider())).toBe('invalid_metadata');
  });

  it.each([
    ['no authorization endpoint', { authorization_endpoint: undefined }],
    ['no token endpoint', { token_endpoint: undefined }],
    ['a script as authorization endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
    ['a token endpoint with http', { token_endpoint: 'http://as.example/token' }],
    [
      'a redirect URI in the authorization endpoint',
      { authorization_endpoint: 'http://localhost/auth?redirect_uri=https://evil.example' },
    ],
    ['a client id in the authorization endpoint', { authorization_endpoint: 'http://localhost/auth?client_id=other' }],
    ['a number as JWKS', { jwks_uri: 7 }],
  ])('T12: with %s is refused', async (_, changes) => {
    Object.assign(evil.metadata, changes);
    expect(await startFailure(provider())).toBe('invalid_metadata');
  });

  it('S55: of 256 MiB is refused after a small part', async () => {
    const chunk = Buffer.alloc(64 * 1024, ' ');
    let produced = 0;
    evil.metadataAnswer = () => ({
      body: (function* () {
        for (; produced < 256 * 1024 * 1024; produced += chunk.length) yield chunk;
      })(),
    });
    expect(await startFailure(provider())).toBe('outbound_too_large');
    expect(produced).toBeLessThan(16 * 1024 * 1024);
  });

  it('S55: is not fetched through a redirect', async () => {
    await using inside = await listenHttp((_, response) => response.end('{}'));
    evil.metadataAnswer = () => ({ status: 302, headers: { location: `http://localhost:${inside.port}/` }, body: '' });
    expect(await startFailure(provider())).toBe('outbound_redirect');
    expect(inside.connections).toBe(0);
  });

  it.each(['https://127.0.0.1/token', 'https://169.254.169.254/token', 'https://[::1]/token'])(
    'T48: cannot make the gateway call the token endpoint %s',
    async token_endpoint => {
      // As in production, loopback is not allowed. Therefore the test itself answers the request for the metadata.
      await using guarded = createOutboundFetch({ allowLoopback: false });
      const issuer = 'https://as.example';
      const metadata = { ...evil.metadata, issuer, token_endpoint };
      for (const name of ['authorization_endpoint', 'userinfo_endpoint', 'jwks_uri']) {
        Object.assign(metadata, { [name]: `${issuer}/${name}` });
      }
      const config = providerConfigSchema.parse({
        name: 'tracker',
        displayName: 'Tracker',
        issuer,
        clientId: 'postern',
      });
      const answering = withoutNetwork(async (...p) =>
        String(p[0]).includes('.well-known') ? Response.json(metadata) : guarded(...p),
      );
      const at = createProviderRegistry({ providers: [config], fetch: answering, now: Date.now }).get('tracker');
      const exchange =
        at?.exchange({ ...canaries, redirectUri, scopes: [], expectedIssuer: issuer, clientId: 'postern' }) ??
        Promise.resolve();
      expect(await failureCodeOf(exchange)).toBe('outbound_blocked');
    },
  );

  it('T12: of an https issuer cannot name http endpoints on this machine', async () => {
    const issuer = 'https://as.example';
    const config = providerConfigSchema.parse({ name: 'tracker', displayName: 'Tracker', issuer, clientId: 'postern' });
    const answering = withoutNetwork(async () => Response.json({ ...evil.metadata, issuer }));
    const at = createProviderRegistry({ providers: [config], fetch: answering, now: Date.now }).get('tracker');
    expect(await failureCodeOf(at?.start({ redirectUri, state, scopes: [] }) ?? Promise.resolve())).toBe(
      'invalid_metadata',
    );
  });
});

describe('N3: token responses', () => {
  const good = { access_token: accessToken, token_type: 'Bearer' };

  it.each([
    ['an empty body', { body: '' }],
    ['HTML', { body: `<html>${accessToken}`, headers: { 'content-type': 'text/html' } }],
    ['truncated JSON', { body: `{"access_token":"${accessToken}","token_ty` }],
    ['an array', { body: '[]' }],
    ['null', { body: 'null' }],
    ['an error with 200', { body: { error: 'invalid_grant', error_description: description } }],
    ['no access token', { body: { token_type: 'Bearer' } }],
    ['an empty access token', { body: { ...good, access_token: '' } }],
    ['a number as access token', { body: { ...good, access_token: 7 } }],
    ['an access token with a line break', { body: { ...good, access_token: `${accessToken}\r\nx: y` } }],
    ['another token type', { body: { ...good, token_type: 'mac' } }],
    ['a DPoP token that was not requested', { body: { ...good, token_type: 'DPoP' } }],
    ['a number as scope', { body: { ...good, scope: 7 } }],
    ['an object as refresh token', { body: { ...good, refresh_token: {} } }],
    ['a 201 without a body', { status: 201, body: '' }],
    ['a list of tokens', { body: { ...good, access_token: [accessToken] } }],
    ['a 400 without OAuth error', { status: 400, body: '<html>' }],
  ])('rejects %s', async (_, answer) => {
    evil.tokenAnswer = () => answer;
    expect(await failureOf(connect(provider()))).toMatchObject({ code: 'invalid_token_response', retryable: true });
    expect(evil.requests('token')).toHaveLength(1);
  });

  it.each(Object.entries(untidyTokenAnswers(good)))('S191: accepts %s', async (_, answer) => {
    evil.tokenAnswer = () => answer;
    const grant = connect(provider());
    await expect(grant).resolves.toMatchObject({ accessToken, tokenType: 'bearer', scopes: ['repo'] });
    await expect(grant).resolves.not.toHaveProperty('refreshToken');
  });

  it.each([
    ['3600', 3600],
    ['3600.9', 3600],
    [' 60 ', 60],
    [0, undefined],
    [-1, undefined],
    [null, undefined],
    ['soon', undefined],
    [315_360_001, undefined],
  ])('S191: reads an expires_in of %j as %j seconds, or as unknown', async (expires_in, seconds) => {
    evil.tokenAnswer = () => ({ body: { ...good, expires_in } });
    const now = Date.now();
    const at = providerFrom({ issuer: evil.issuer, clientSecret }, { fetch, now: () => now });
    const expiresAt = seconds === undefined ? undefined : now + seconds * 1000;
    await expect(connect(at).then(grant => grant.expiresAt)).resolves.toBe(expiresAt);
  });

  it('reports the code of an OAuth error, not its text', async () => {
    evil.tokenAnswer = () => ({ status: 400, body: { error: description, error_description: description } });
    expect(await failureOf(connect(provider()))).toMatchObject({
      code: 'provider_error',
      providerError: 'unregistered',
    });
  });

  it('rejects 20 MiB after a small part', async () => {
    const chunk = Buffer.alloc(64 * 1024, ' ');
    let produced = 0;
    evil.tokenAnswer = () => ({
      body: (function* () {
        for (; produced < 20 * 1024 * 1024; produced += chunk.length) yield chunk;
      })(),
    });
    expect(await failureCodeOf(connect(provider()))).toBe('outbound_too_large');
    expect(produced).toBeLessThan(16 * 1024 * 1024);
  });

  it('rejects a redirect and does not send the code there', async () => {
    await using inside = await listenHttp((_, response) => response.end('{}'));
    evil.tokenAnswer = () => ({ status: 307, headers: { location: `http://localhost:${inside.port}/` }, body: '' });
    expect(await failureCodeOf(connect(provider()))).toBe('outbound_redirect');
    expect(inside.connections).toBe(0);
  });

  it('ignores a __proto__ member', async () => {
    evil.tokenAnswer = () => ({ body: `{"__proto__":{"admin":true},"access_token":"x","token_type":"Bearer"}` });
    const grant = await connect(provider());
    expect(grant).toEqual({
      accessToken: 'x',
      clientId: 'postern',
      tokenType: 'bearer',
      scopes: ['repo'],
      issuer: evil.issuer,
    });
    expect('admin' in {}).toBe(false);
  });
});

describe('S19: granted scopes', () => {
  it.each([
    ['are the requested ones if the response has no scope', undefined, ['repo']],
    ['are the requested ones if the scope is null', null, ['repo']],
    ['may be fewer than requested', '', []],
    ['may be an empty list', [], []],
    ['may be more than requested', 'repo admin repo', ['repo', 'admin']],
    ['may be separated by commas', 'repo,gist', ['repo', 'gist']],
    ['may be a list', ['repo', 'gist'], ['repo', 'gist']],
  ] as const)('%s', async (_, scope, scopes) => {
    evil.tokenAnswer = async () => ({ body: await honestTokens(evil, { scope }) });
    expect((await connect(provider())).scopes).toEqual(scopes);
  });
});

describe('S19: incremental grants', () => {
  it('keep the held scopes if the response has no scope', async () => {
    const scopes = ['gist'];
    const request = { redirectUri, state, scopes, heldScopes: ['repo', 'profile'] };
    const grantedBy = async (changes: Partial<ProviderConfigInput>) => {
      const at = provider(changes);
      const start = await at.start(request);
      const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
      return (await finish(at, { ...start, callbackUrl, ...request })).scopes;
    };
    expect(await grantedBy({ incrementalScopes: true })).toEqual(['gist', 'repo', 'profile']);
    expect(await grantedBy({})).toEqual(['gist']);
    evil.tokenAnswer = async () => ({ body: await honestTokens(evil, { scope: 'gist repo' }) });
    const unreported = { incrementalScopes: true, unreportedScopes: ['profile'] };
    expect(await grantedBy(unreported)).toEqual(['gist', 'repo', 'profile']);
    expect(provider(unreported).scopesToRequest(scopes, ['repo'])).toEqual(['gist']);
  });
});
