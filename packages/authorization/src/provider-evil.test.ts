import {
  driveAuthorization,
  type EvilProvider,
  honestTokens,
  listenHttp,
  startEvilProvider,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canaries, failureCodeOf, failureOf } from './failure-of.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { withoutNetwork } from './outbound-fetch-fixture.ts';
import type { Provider } from './provider.ts';
import { type ProviderConfigInput, providerConfigSchema } from './provider-config.ts';
import { createProviderRegistry } from './provider-registry.ts';

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
  return at.finish({ ...start, callbackUrl, redirectUri, state, scopes });
}

/** What an attempt to start fails with; nothing else than metadata has been asked for then. */
async function startFailure(at: Provider): Promise<string> {
  const code = await failureCodeOf(at.start({ redirectUri, state, scopes: [] }));
  expect(evil.requests().every(({ endpoint }) => endpoint === 'metadata')).toBe(true);
  return code;
}

describe('S14: PKCE in the metadata', () => {
  it.each([
    ['absent', undefined],
    ['without S256', ['plain']],
    ['empty', []],
  ])('%s → refused', async (_, methods) => {
    evil.metadata['code_challenge_methods_supported'] = methods;
    expect(await startFailure(provider())).toBe('pkce_unsupported');
  });

  it('absent, and the operator opted out → PKCE is sent all the same', async () => {
    evil.metadata['code_challenge_methods_supported'] = undefined;
    const at = provider({ allowMissingPkceMetadata: true });
    const { authorizationUrl } = await at.start({ redirectUri, state, scopes: [] });
    expect(authorizationUrl.searchParams.get('code_challenge_method')).toBe('S256');
    expect((await connect(at)).accessToken).toBe('evil-access-token');
  });

  it('T6: S256 denied → refused, whatever the operator opted out of', async () => {
    evil.metadata['code_challenge_methods_supported'] = ['plain'];
    expect(await startFailure(provider({ allowMissingPkceMetadata: true }))).toBe('pkce_unsupported');
  });
});

describe('S15: iss in the whole flow', () => {
  it.each([
    ['wrong', 'https://other.example'],
    ['missing though advertised', undefined],
  ])('N5: %s → no token request', async (_, iss) => {
    evil.authorizationResponse = query => ({ code: canaries.code, state: query.get('state') ?? undefined, iss });
    expect(await failureCodeOf(connect(provider()))).toBe('issuer_mismatch');
    expect(evil.requests('token')).toHaveLength(0);
  });

  it('N5: wrong on an error response → its texts are not exposed', async () => {
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

  it('missing and not advertised → accepted, unless the operator requires it', async () => {
    evil.metadata['authorization_response_iss_parameter_supported'] = undefined;
    evil.authorizationResponse = query => ({ code: canaries.code, state: query.get('state') ?? undefined });
    expect((await connect(provider())).accessToken).toBe('evil-access-token');
    expect(await failureCodeOf(connect(provider({ requireIss: true })))).toBe('issuer_mismatch');
  });

  it.each([
    ['wrong', { iss: 'https://other.example', code: canaries.code }],
    ['with a slash', { iss: 'SLASH', code: canaries.code }],
    ['wrong on an error', { iss: 'https://other.example', error: 'access_denied' }],
    ['missing', { code: canaries.code }],
    ['missing on an error', { error: 'access_denied' }],
  ])('N5: with explicit endpoints and an issuer, %s → refused', async (_, answer) => {
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

  it('T4: what was recorded at the start counts, not what the metadata says later', async () => {
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
    ['of an issuer that is no URL', 'x'],
    ['with a trailing slash', 'SLASH'],
    ['in another case', 'CASE'],
  ])('%s → refused', async (_, issuer) => {
    evil.metadata['issuer'] = issuer
      .replace('SLASH', `${evil.issuer}/`)
      .replace('CASE', evil.issuer.replace('localhost', 'LOCALHOST'));
    expect(await startFailure(provider())).toBe('metadata_mismatch');
    expect(await startFailure(provider({ discovery: 'oauth2' }))).toBe('metadata_mismatch');
  });

  it.each([
    ['is HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }],
    ['is cut off', { body: '{"issuer":"http' }],
    ['is a list', { body: '[]' }],
    ['has no issuer', { body: '{}' }],
    ['has no issuer that is a text', { body: '{"issuer":7}' }],
    ['N3: says something twice', { body: '{"issuer":"https://other.example","issuer":"https://another.example"}' }],
    ['is not there', { status: 404, body: '{}' }],
  ])('that %s → refused', async (_, answer) => {
    evil.metadataAnswer = () => answer;
    expect(await startFailure(provider())).toBe('invalid_metadata');
  });

  it.each([
    ['no authorization endpoint', { authorization_endpoint: undefined }],
    ['no token endpoint', { token_endpoint: undefined }],
    ['a script as authorization endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
    ['http on the network', { token_endpoint: 'http://as.example/token' }],
    [
      'a redirect URI of its own',
      { authorization_endpoint: 'http://localhost/auth?redirect_uri=https://evil.example' },
    ],
    ['a client id of its own', { authorization_endpoint: 'http://localhost/auth?client_id=other' }],
    ['a number as JWKS', { jwks_uri: 7 }],
  ])('T12: with %s → refused', async (_, changes) => {
    Object.assign(evil.metadata, changes);
    expect(await startFailure(provider())).toBe('invalid_metadata');
  });

  it('S55: 256 MiB of metadata → refused after a small part of it', async () => {
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

  it('S55: a redirect of the metadata is not followed', async () => {
    await using inside = await listenHttp((_, response) => response.end('{}'));
    evil.metadataAnswer = () => ({ status: 302, headers: { location: `http://localhost:${inside.port}/` }, body: '' });
    expect(await startFailure(provider())).toBe('outbound_redirect');
    expect(inside.connections).toBe(0);
  });

  it.each(['https://127.0.0.1/token', 'https://169.254.169.254/token', 'https://[::1]/token'])(
    'T48: token endpoint %s named by metadata → blocked',
    async token_endpoint => {
      // Seen from production, where even the metadata would not be read from here: the answers come from the test.
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
        at?.exchange({ ...canaries, redirectUri, scopes: [], expectedIssuer: issuer }) ?? Promise.resolve();
      expect(await failureCodeOf(exchange)).toBe('outbound_blocked');
    },
  );

  it('T12: an https issuer does not lead to http endpoints of this machine', async () => {
    const issuer = 'https://as.example';
    const config = providerConfigSchema.parse({ name: 'tracker', displayName: 'Tracker', issuer, clientId: 'postern' });
    const answering = withoutNetwork(async () => Response.json({ ...evil.metadata, issuer }));
    const at = createProviderRegistry({ providers: [config], fetch: answering, now: Date.now }).get('tracker');
    expect(await failureCodeOf(at?.start({ redirectUri, state, scopes: [] }) ?? Promise.resolve())).toBe(
      'invalid_metadata',
    );
  });
});

describe('N3: token answers', () => {
  const good = { access_token: accessToken, token_type: 'Bearer' };

  it.each([
    ['empty', { body: '' }],
    ['HTML', { body: `<html>${accessToken}`, headers: { 'content-type': 'text/html' } }],
    ['truncated', { body: `{"access_token":"${accessToken}","token_ty` }],
    ['a list', { body: '[]' }],
    ['null', { body: 'null' }],
    ['an error with 200', { body: { error: 'invalid_grant', error_description: description } }],
    ['without access token', { body: { token_type: 'Bearer' } }],
    ['an empty access token', { body: { ...good, access_token: '' } }],
    ['a number as access token', { body: { ...good, access_token: 7 } }],
    ['an access token with a line break', { body: { ...good, access_token: `${accessToken}\r\nx: y` } }],
    ['without token type', { body: { access_token: accessToken } }],
    ['another token type', { body: { ...good, token_type: 'mac' } }],
    ['a DPoP token, which was not asked for', { body: { ...good, token_type: 'DPoP' } }],
    ['expires_in negative', { body: { ...good, expires_in: -1 } }],
    ['expires_in a string', { body: { ...good, expires_in: '3600' } }],
    ['expires_in 1e99', { body: `{"access_token":"${accessToken}","token_type":"Bearer","expires_in":1e99}` }],
    ['expires_in too large for a number', { body: `{"access_token":"x","token_type":"Bearer","expires_in":1e999}` }],
    ['a number as scope', { body: { ...good, scope: 7 } }],
    ['an object as refresh token', { body: { ...good, refresh_token: {} } }],
    ['a 201', { status: 201, body: good }],
    ['a 400 without OAuth error', { status: 400, body: '<html>' }],
  ])('%s → rejected', async (_, answer) => {
    evil.tokenAnswer = () => answer;
    expect(await failureOf(connect(provider()))).toMatchObject({ code: 'invalid_token_response', retryable: true });
    expect(evil.requests('token')).toHaveLength(1);
  });

  it('an OAuth error → its code, not its text', async () => {
    evil.tokenAnswer = () => ({ status: 400, body: { error: description, error_description: description } });
    expect(await failureOf(connect(provider()))).toMatchObject({
      code: 'provider_error',
      providerError: 'unregistered',
    });
  });

  it('20 MiB → rejected after a small part of it', async () => {
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

  it('a redirect → rejected, the code goes nowhere else', async () => {
    await using inside = await listenHttp((_, response) => response.end('{}'));
    evil.tokenAnswer = () => ({ status: 307, headers: { location: `http://localhost:${inside.port}/` }, body: '' });
    expect(await failureCodeOf(connect(provider()))).toBe('outbound_redirect');
    expect(inside.connections).toBe(0);
  });

  it('members named like parts of an object → do no harm', async () => {
    evil.tokenAnswer = () => ({ body: `{"__proto__":{"admin":true},"access_token":"x","token_type":"Bearer"}` });
    const grant = await connect(provider());
    expect(grant).toEqual({ accessToken: 'x', tokenType: 'bearer', scopes: ['repo'], issuer: evil.issuer });
    expect('admin' in {}).toBe(false);
  });
});

describe('S19: granted scopes', () => {
  it.each([
    ['absent: those requested', undefined, ' ', ['repo']],
    ['fewer', '', ' ', []],
    ['more', 'repo admin repo', ' ', ['repo', 'admin']],
    ['commas by default are part of a scope', 'repo,gist', ' ', ['repo,gist']],
    ['commas where configured', 'repo,gist', ',', ['repo', 'gist']],
  ] as const)('%s', async (_, scope, scopeSeparator, scopes) => {
    evil.tokenAnswer = async () => ({ body: await honestTokens(evil, { scope }) });
    expect((await connect(provider({ scopeSeparator }))).scopes).toEqual(scopes);
  });
});

describe('S19: incremental grants', () => {
  it('without a scope in the answer, those held before are granted still', async () => {
    const scopes = ['gist'];
    const request = { redirectUri, state, scopes, heldScopes: ['repo', 'profile'] };
    const grantedBy = async (changes: Partial<ProviderConfigInput>) => {
      const at = provider(changes);
      const start = await at.start(request);
      const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
      return (await at.finish({ ...start, callbackUrl, ...request })).scopes;
    };
    expect(await grantedBy({ incrementalScopes: true })).toEqual(['gist', 'repo', 'profile']);
    expect(await grantedBy({})).toEqual(['gist']);
    evil.tokenAnswer = async () => ({ body: await honestTokens(evil, { scope: 'gist repo' }) });
    const unreported = { incrementalScopes: true, unreportedScopes: ['profile'] };
    expect(await grantedBy(unreported)).toEqual(['gist', 'repo', 'profile']);
    expect(provider(unreported).scopesToRequest(scopes, ['repo'])).toEqual(['gist']);
  });
});
