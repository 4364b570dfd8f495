import {
  createCookieJar,
  driveAuthorization,
  type EvilProvider,
  honestTokens,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import type { JWTPayload } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type IdentityProviderConfigInput, identityProviderConfigSchema } from './identity-provider-config.ts';
import { createOutboundFetch, type OutboundFetch } from './outbound/outbound-fetch.ts';
import { OutboundError } from './outbound/outbound-policy.ts';
import { createSignIn, type SignIn, type SignInCallback } from './sign-in.ts';
import { canaries, failureCodeOf, failureOf } from './testing/failure-of.ts';

const redirectUri = new URL('http://127.0.0.1:1/login/callback/example-id');
const { state, nonce, clientSecret } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

function signInAt(
  issuer: string,
  changes: Partial<IdentityProviderConfigInput> = {},
  now = Date.now,
  through: OutboundFetch = fetch,
): SignIn {
  const identityProvider = identityProviderConfigSchema.parse({
    name: 'company',
    issuer,
    clientId: 'postern',
    clientSecret,
    ...changes,
  });
  return createSignIn({ identityProvider, fetch: through, now });
}

async function signIn(
  at: SignIn,
  p: { user?: string; prompt?: 'login'; maxAge?: number; finish?: Partial<SignInCallback> } = {},
  jar = createCookieJar(),
) {
  const { user = 'alice', finish, ...request } = p;
  const { authorizationUrl, codeVerifier } = await at.start({ redirectUri, state, nonce, ...request });
  const callbackUrl = await driveAuthorization(authorizationUrl, user, { jar });
  return at.finish({
    callbackUrl,
    redirectUri,
    state,
    nonce,
    codeVerifier,
    ...(request.maxAge !== undefined && { maxAge: request.maxAge }),
    ...finish,
  });
}

describe('S08: sign-in at a real provider', () => {
  let op: TestProvider;
  const clients = [{ clientId: 'postern', clientSecret, redirectUris: [redirectUri.href] }];
  beforeAll(async () => {
    op = await startOpenIdProvider({ clients, consent: 'skip' });
  });
  beforeEach(() => {
    op.clearRequests();
    op.clearFaults();
  });
  afterAll(() => op.close());

  it('returns the signed-in user', async () => {
    expect(await signIn(signInAt(op.issuer))).toMatchObject({
      issuer: op.issuer,
      subject: 'alice',
      displayName: 'Alice Example',
      detail: 'alice@example.com',
    });
  });

  it('S172: the URL of a sign-out there names the client, and nothing about the user', async () => {
    const url = await signInAt(op.issuer).endSessionUrl({ postLogoutRedirectUri: redirectUri, state, locale: 'de' });
    expect(url?.href.split('?')[0]).toBe(`${op.issuer}/session/end`);
    expect(Object.fromEntries(url?.searchParams ?? [])).toEqual({
      client_id: 'postern',
      post_logout_redirect_uri: redirectUri.href,
      state,
      ui_locales: 'de',
    });
    const off = signInAt(op.issuer, { rpInitiatedLogout: false });
    expect(await off.endSessionUrl({ postLogoutRedirectUri: redirectUri, state })).toBeUndefined();
  });

  it('uses code, PKCE S256, state and nonce', async () => {
    const { authorizationUrl } = await signInAt(op.issuer).start({ redirectUri, state, nonce });
    expect(Object.fromEntries(authorizationUrl.searchParams)).toMatchObject({
      response_type: 'code',
      scope: 'openid profile email',
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    await signIn(signInAt(op.issuer));
    expect(op.requests('token')[0]?.form['code_verifier']).toMatch(/^[\w-]{43,128}$/);
  });

  it('T5: refuses another nonce, another state and another verifier', async () => {
    const at = signInAt(op.issuer);
    expect(await failureCodeOf(signIn(at, { finish: { nonce: 'another' } }))).toBe('invalid_id_token');
    expect(await failureCodeOf(signIn(at, { finish: { state: 'another' } }))).toBe('state_mismatch');
    const { codeVerifier } = canaries;
    expect(await failureOf(signIn(at, { finish: { codeVerifier } }))).toMatchObject({ providerError: 'invalid_grant' });
  });

  it('reports a denial as access_denied', async () => {
    const at = signInAt(op.issuer);
    const { authorizationUrl, codeVerifier } = await at.start({ redirectUri, state, nonce });
    const callbackUrl = await driveAuthorization(authorizationUrl, 'alice', { decision: 'deny' });
    const finish = at.finish({ callbackUrl, redirectUri, state, nonce, codeVerifier });
    expect(await failureCodeOf(finish)).toBe('access_denied');
    expect(op.requests('token')).toHaveLength(0);
  });

  it('N12: is retryable if the identity provider is down', async () => {
    op.fault({ endpoint: 'metadata', status: 503 });
    const start = signInAt(op.issuer).start({ redirectUri, state, nonce });
    expect(await failureOf(start)).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });

  it('uses single sign-on unless a fresh sign-in is requested', async () => {
    const at = signInAt(op.issuer);
    const jar = createCookieJar();
    await signIn(at, {}, jar);
    op.clearRequests();
    expect((await signIn(at, { user: 'unused' }, jar)).subject).toBe('alice');
    expect(op.requests('interaction')).toHaveLength(0);
    expect((await signIn(at, { user: 'bob', prompt: 'login' }, jar)).subject).toBe('bob');
  });

  it('S10: sends max_age and returns the auth_time', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { authorizationUrl } = await signInAt(op.issuer, { maxAgeSeconds: 300 }).start({ redirectUri, state, nonce });
    expect(authorizationUrl.searchParams.get('max_age')).toBe('300');
    const { authTime } = await signIn(signInAt(op.issuer), { maxAge: 300 });
    expect(authTime).toBeGreaterThanOrEqual(before);
  });

  it('replaces a parameter that the authorization endpoint has in its URL', async () => {
    const elsewhere = createOutboundFetch({ allowLoopback: true });
    const withQuery: OutboundFetch = Object.assign(
      async (...p: Parameters<OutboundFetch>) => {
        const response = await elsewhere(...p);
        const text = await response.text();
        return new Response(
          text.replace(/("authorization_endpoint":"[^"]+)"/, '$1?tenant=acme&prompt=none"'),
          response,
        );
      },
      { isInside: elsewhere.isInside, close: elsewhere.close, [Symbol.asyncDispose]: elsewhere.close },
    );
    await using _ = withQuery;
    const at = signInAt(op.issuer, {}, Date.now, withQuery);
    const { searchParams } = (await at.start({ redirectUri, state, nonce, prompt: 'login' })).authorizationUrl;
    expect([searchParams.getAll('tenant'), searchParams.getAll('prompt')]).toEqual([['acme'], ['login']]);
  });

  it('S211: asks for the auth_time by the claims parameter, where the provider supports it', async () => {
    const claimsOf = async (issuer: string) =>
      (await signInAt(issuer).start({ redirectUri, state, nonce })).authorizationUrl.searchParams.get('claims');
    expect(await claimsOf(op.issuer)).toBeNull();
    await using asking = await startOpenIdProvider({ clients, consent: 'skip', claimsParameter: true });
    expect(await claimsOf(asking.issuer)).toBe('{"id_token":{"auth_time":{"essential":true}}}');
    const { authTime = 0 } = await signIn(signInAt(asking.issuer));
    expect(Math.abs(authTime - Date.now())).toBeLessThan(60_000);
  });

  it('S05: takes the subject from the configured claims', async () => {
    expect((await signIn(signInAt(op.issuer, { subjectClaim: 'tid+oid' }))).subject).toBe('tenant-1+oid-alice');
    expect(await failureCodeOf(signIn(signInAt(op.issuer, { subjectClaim: 'employee_id' })))).toBe('invalid_id_token');
  });

  it('S05: works with pairwise subjects', async () => {
    await using pairwise = await startOpenIdProvider({ clients, consent: 'skip', pairwise: true });
    const { subject } = await signIn(signInAt(pairwise.issuer));
    expect(subject).toBe(pairwise.subjectOf('alice', 'postern'));
    expect(subject).not.toBe('alice');
    expect((await signIn(signInAt(pairwise.issuer, { subjectClaim: 'tid+oid' }))).subject).toBe('tenant-1+oid-alice');
  });

  it('reads the name from userinfo when the ID token has none', async () => {
    await using lean = await startOpenIdProvider({ clients, consent: 'skip', profileInIdToken: false });
    expect(await signIn(signInAt(lean.issuer), { user: 'bob' })).toMatchObject({
      subject: 'bob',
      displayName: 'Bob Example',
    });
    expect(lean.requests('userinfo')).toHaveLength(1);
  });

  it.each([
    ['ten hours ahead', 10 * 3_600_000],
    ['ten hours behind', -10 * 3_600_000],
  ])('N11: refuses ID tokens if our clock is %s', async (_, offset) => {
    const at = signInAt(op.issuer, {}, () => Date.now() + offset);
    expect(await failureCodeOf(signIn(at))).toBe('invalid_id_token');
  });
});

describe('N4: ID tokens', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
  });
  afterEach(() => evil.close());

  /** Signs in with changed claims in the ID token; `undefined` omits a claim. */
  async function signInWith(changes: JWTPayload): Promise<unknown> {
    const honest = evil.idTokenClaims;
    evil.idTokenClaims = given => ({ ...honest(given), ...changes });
    return signIn(signInAt(evil.issuer));
  }

  /** Signs in with this ID token in the token response. */
  async function signInWithToken(idToken: (claims: JWTPayload) => Promise<string> | string): Promise<unknown> {
    evil.tokenAnswer = async () => {
      const claims = evil.idTokenClaims(evil.lastAuthorization.get('nonce') ?? undefined);
      return { body: await honestTokens(evil, { id_token: await idToken(claims) }) };
    };
    return signIn(signInAt(evil.issuer));
  }

  const seconds = () => Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('are accepted with honest claims', async () => {
    expect(await signInWith({})).toEqual({ issuer: evil.issuer, subject: 'alice', displayName: 'Alice Example' });
  });

  it.each([
    ['another issuer', () => ({ iss: 'https://other.example' })],
    ['the issuer with a slash', () => ({ iss: `${evil.issuer}/` })],
    ['no issuer', () => ({ iss: undefined })],
    ['another audience', () => ({ aud: 'somebody else' })],
    ['several audiences without azp', () => ({ aud: ['postern', 'somebody else'] })],
    ['several audiences and another azp', () => ({ aud: ['postern', 'x'], azp: 'x' })],
    ['no audience', () => ({ aud: undefined })],
    ['another nonce', () => ({ nonce: 'another' })],
    ['no nonce', () => ({ nonce: undefined })],
    ['an expiry in the past', () => ({ exp: seconds() - 120 })],
    ['no expiry', () => ({ exp: undefined })],
    ['a string as expiry', () => ({ exp: 'never' as never })],
    ['an iat a week ago', () => ({ iat: seconds() - 7 * 24 * 3600 })],
    ['an iat in an hour', () => ({ iat: seconds() + 3600 })],
    ['no iat', () => ({ iat: undefined })],
    ['an nbf in an hour', () => ({ nbf: seconds() + 3600 })],
    ['no subject', () => ({ sub: undefined })],
    ['an empty subject', () => ({ sub: '' })],
    ['a number as subject', () => ({ sub: 7 as never })],
  ])('are refused with %s', async (_, changes) => {
    expect(await failureCodeOf(signInWith(changes() as JWTPayload))).toBe('invalid_id_token');
  });

  it.each([
    ['iss', () => ({ iss: 'https://other.example' })],
    ['aud', () => ({ aud: 'somebody else' })],
    ['aud', () => ({ aud: undefined })],
    ['azp', () => ({ aud: ['postern', 'x'], azp: 'x' })],
    ['nonce', () => ({ nonce: 'another' })],
    ['exp', () => ({ exp: seconds() - 120 })],
    ['exp', () => ({ exp: undefined })],
    ['iat', () => ({ iat: seconds() - 7 * 24 * 3600 })],
    ['nbf', () => ({ nbf: seconds() + 3600 })],
    ['sub', () => ({ sub: undefined })],
    ['auth_time', () => ({ auth_time: -1 })],
    ['auth_time', () => ({ auth_time: 'yesterday' })],
  ])('S78: are refused with the name of the invalid claim: %s', async (claim, changes) => {
    expect(await failureOf(signInWith(changes() as JWTPayload))).toMatchObject({ code: 'invalid_id_token', claim });
  });

  it.each([
    ['not signed (alg none)', (claims: JWTPayload) => `${encode({ alg: 'none' })}.${encode(claims)}.`],
    [
      'signed by another key',
      (claims: JWTPayload) =>
        startEvilProvider({ clientId: 'x' }).then(async other => {
          const token = await other.sign(claims);
          await other.close();
          return token;
        }),
    ],
    ['signed with an unknown kid', (claims: JWTPayload) => evil.sign(claims, { kid: 'unknown' })],
    [
      'signed with HS256 and the public key as secret',
      (claims: JWTPayload) => evil.sign(claims, { alg: 'HS256' }, Buffer.from(JSON.stringify(evil.publicJwk))),
    ],
    [
      'signed with HS256 and the client secret',
      (claims: JWTPayload) => evil.sign(claims, { alg: 'HS256' }, Buffer.from(clientSecret)),
    ],
    [
      'changed after signing',
      async (claims: JWTPayload) => {
        const [header, , signature] = (await evil.sign(claims)).split('.');
        return `${header}.${encode({ ...claims, sub: 'bob' })}.${signature}`;
      },
    ],
    ['not a JWT', () => 'canary'],
    ['encrypted (JWE)', () => 'a.b.c.d.e'],
  ])('are refused if they are %s', async (_, idToken) => {
    expect(await failureCodeOf(signInWithToken(idToken))).toBe('invalid_id_token');
  });

  it('are refused with alg none and HS256 even if the metadata lists them', async () => {
    evil.metadata['id_token_signing_alg_values_supported'] = ['none', 'HS256', 'ES256'];
    const none = signInWithToken(claims => `${encode({ alg: 'none' })}.${encode(claims)}.`);
    expect(await failureCodeOf(none)).toBe('invalid_id_token');
    const hmac = signInWithToken(claims => evil.sign(claims, { alg: 'HS256' }, Buffer.from(clientSecret)));
    expect(await failureCodeOf(hmac)).toBe('invalid_id_token');
  });

  it('are required', async () => {
    evil.tokenAnswer = async () => ({ body: await honestTokens(evil, { id_token: undefined }) });
    expect(await failureCodeOf(signIn(signInAt(evil.issuer)))).toBe('invalid_id_token');
  });

  it('are verified with a set of 1,000 keys, but not with an endless one', async () => {
    const others = Array.from({ length: 999 }, (_, index) => ({ ...evil.publicJwk, kid: `other-${index}` }));
    evil.jwksAnswer = () => ({ body: { keys: [...others, evil.publicJwk] } });
    expect(await signInWith({})).toMatchObject({ subject: 'alice' });

    const chunk = Buffer.alloc(64 * 1024, ' ');
    evil.jwksAnswer = () => ({ body: Array.from({ length: 4096 }, () => chunk).values() });
    expect(await failureCodeOf(signIn(signInAt(evil.issuer)))).toBe('outbound_too_large');
  });

  it.each([
    ['a key for another algorithm first', () => [{ kty: 'OKP', crv: 'Ed25519', kid: 'okp', x: 'AAAA' }]],
    ['a key of an unknown type', () => [{ kty: 'XYZ', kid: 'xyz' }, { kid: 'nothing' }]],
    [
      'keys of other types with the same kid',
      () => [{ kty: 'OKP', crv: 'Ed25519', kid: evil.publicJwk.kid, x: 'AAAA' }],
    ],
  ])('are verified beside %s', async (_, others) => {
    evil.jwksAnswer = () => ({ body: { keys: [...others(), evil.publicJwk] } });
    expect(await signInWith({})).toMatchObject({ subject: 'alice' });
  });

  it('are verified with cached keys, which an unknown kid does not reload within the cooldown', async () => {
    const at = signInAt(evil.issuer);
    await signIn(at);
    await signIn(at);
    expect(evil.requests('jwks')).toHaveLength(1);
    const honest = evil.sign;
    evil.sign = claims => honest(claims, { kid: 'unknown' });
    expect(await failureCodeOf(signIn(at))).toBe('invalid_id_token');
    expect(evil.requests('jwks')).toHaveLength(1);
  });

  it('are verified with rotated keys after the cooldown', async () => {
    let now = Date.now();
    const at = signInAt(evil.issuer, {}, () => now);
    await signIn(at);
    // Two minutes later, by our clock and in the claims of the provider.
    now += 120_000;
    const { sign, idTokenClaims } = evil;
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), iat: seconds() + 120, exp: seconds() + 300 });
    evil.sign = claims => sign(claims, { kid: 'next-key' });
    evil.jwksAnswer = () => ({ body: { keys: [{ ...evil.publicJwk, kid: 'next-key' }] } });
    expect((await signIn(at)).subject).toBe('alice');
    expect(evil.requests('jwks')).toHaveLength(2);
  });

  it('S10: are refused with an old or absent auth_time if max_age was requested', async () => {
    const { idTokenClaims } = evil;
    const at = signInAt(evil.issuer);
    const refused = { code: 'invalid_id_token', claim: 'auth_time' };
    expect(await failureOf(signIn(at, { maxAge: 60 }))).toMatchObject(refused);
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), auth_time: seconds() - 3600 });
    expect(await failureOf(signIn(at, { maxAge: 60 }))).toMatchObject(refused);
    expect(await signIn(at, { maxAge: 7200 })).toMatchObject({ subject: 'alice' });
  });

  it('S67: are refused with an auth_time in the future if max_age was requested', async () => {
    const { idTokenClaims } = evil;
    const at = signInAt(evil.issuer);
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), auth_time: seconds() + 3600 });
    const refused = { code: 'invalid_id_token', claim: 'auth_time' };
    expect(await failureOf(signIn(at, { maxAge: 60 }))).toMatchObject(refused);
    expect(await signIn(at)).toMatchObject({ subject: 'alice' });
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), auth_time: seconds() + 20 });
    expect(await signIn(at, { maxAge: 60 })).toMatchObject({ subject: 'alice' });
  });

  it('S82: are accepted with auth_time 0, which counts as absent, if max_age was not requested', async () => {
    const { idTokenClaims } = evil;
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), auth_time: 0 });
    const signedIn = await signIn(signInAt(evil.issuer));
    expect(signedIn).toMatchObject({ subject: 'alice' });
    expect(signedIn).not.toHaveProperty('authTime');
  });

  it('may contain a sid, which the sign-in returns', async () => {
    expect(await signInWith({ sid: 'session-1' })).toMatchObject({ sessionId: 'session-1' });
  });

  it.each<[string, EvilProvider['userinfoAnswer']]>([
    ['a JWT', () => ({ body: 'e30.e30.e30', headers: { 'content-type': 'application/jwt' } })],
    ['401', () => ({ status: 401, body: '', headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })],
    ['403', () => ({ status: 403, body: { error: 'insufficient_scope' } })],
    ['500', () => ({ status: 500, body: '' })],
    ['429', () => ({ status: 429, body: '' })],
    ['a redirect', () => ({ status: 302, body: '', headers: { location: '/login' } })],
    ['HTML', () => ({ body: '<!doctype html>', headers: { 'content-type': 'text/html' } })],
    ['no subject', () => ({ body: { name: 'Mallory' } })],
    ['more than we read', () => ({ body: Array.from({ length: 32 }, () => Buffer.alloc(64 * 1024)).values() })],
  ])('name the user even if userinfo, which has the display name, is %s', async (_, answer) => {
    evil.userinfoAnswer = answer;
    const { issuer } = evil;
    const named = { issuer, subject: 'alice', displayName: 'alice' };
    await expect(signInWith({ name: undefined })).resolves.toEqual(named);
  });

  it('name the user even if userinfo never responds', async () => {
    const { idTokenClaims } = evil;
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), name: undefined });
    const patient = createOutboundFetch({ allowLoopback: true });
    const hanging = Object.assign(
      async (...[url, init]: Parameters<typeof patient>) => {
        if (String(url).endsWith('/me')) throw new OutboundError('outbound_timeout', 'localhost');
        return patient(url, init);
      },
      { isInside: patient.isInside, close: patient.close, [Symbol.asyncDispose]: patient.close },
    );
    await using _hanging = hanging;
    expect(await signIn(signInAt(evil.issuer, {}, Date.now, hanging))).toMatchObject({ displayName: 'alice' });
  });

  it('must have the same subject as the userinfo response', async () => {
    evil.userinfoAnswer = () => ({ body: { sub: 'mallory', name: 'Alice Example' } });
    expect(await failureCodeOf(signInWith({ name: undefined }))).toBe('invalid_userinfo');
  });

  it('may contain a name with direction marks, which are removed', async () => {
    expect(await signInWith({ name: 'Bob\u202e ecilA' })).toMatchObject({ displayName: 'Bob ecilA' });
  });

  it('S14: are never requested if the metadata lacks PKCE, unless the operator opted out', async () => {
    evil.metadata['code_challenge_methods_supported'] = undefined;
    expect(await failureCodeOf(signIn(signInAt(evil.issuer)))).toBe('pkce_unsupported');
    expect(await signIn(signInAt(evil.issuer, { allowMissingPkceMetadata: true }))).toMatchObject({ subject: 'alice' });
  });

  it('S15, N5: are never requested after a callback with the iss of another issuer', async () => {
    evil.authorizationResponse = query => ({
      code: 'x',
      state: query.get('state') ?? undefined,
      iss: 'https://other.example',
    });
    expect(await failureCodeOf(signIn(signInAt(evil.issuer)))).toBe('issuer_mismatch');
    expect(evil.requests('token')).toHaveLength(0);
  });
});

describe('S194: an issuer whose tokens name another text', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
  });
  afterEach(() => evil.close());

  const tenant = '11111111-2222-4333-8444-555555555555';
  const personal = '9188040d-6c67-4c5b-b112-36a304b66dad';

  /** Lets the provider name this issuer in its metadata and its ID tokens. */
  function name(inMetadata: string, inTokens = inMetadata, claims: JWTPayload = {}): void {
    const { idTokenClaims } = evil;
    evil.metadata['issuer'] = inMetadata;
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), iss: inTokens, ...claims });
  }

  /** As Entra ID for all organisations: no `iss` in callbacks, and a template as issuer. */
  function multiTenant(tid: string): SignIn {
    const template = `${evil.issuer}/{tenantid}/v2.0`;
    const { idTokenClaims } = evil;
    evil.metadata['issuer'] = template;
    evil.metadata['authorization_response_iss_parameter_supported'] = undefined;
    evil.authorizationResponse = query => ({ code: 'x', state: query.get('state') ?? undefined });
    evil.idTokenClaims = given => ({ ...idTokenClaims(given), iss: `${evil.issuer}/${tid}/v2.0`, tid });
    const metadataUrl = `${evil.issuer}/organizations/v2.0/.well-known/openid-configuration`;
    return signInAt(template, { metadataUrl, tenants: [tenant], subjectClaim: 'tid+sub' });
  }

  it('with the slash of an empty path keeps the configured text, so the user stays the same', async () => {
    const before = await signIn(signInAt(evil.issuer));
    name(`${evil.issuer}/`);
    evil.authorizationResponse = query => ({
      code: 'x',
      state: query.get('state') ?? undefined,
      iss: `${evil.issuer}/`,
    });
    const after = await signIn(signInAt(evil.issuer));
    expect([after.issuer, after.subject]).toEqual([before.issuer, before.subject]);
    expect(after.issuer).toBe(evil.issuer);
  });

  it('with the slash of an empty path must name the text of its metadata in callbacks and ID tokens', async () => {
    name(`${evil.issuer}/`);
    expect(await failureCodeOf(signIn(signInAt(evil.issuer)))).toBe('issuer_mismatch');
    evil.authorizationResponse = query => ({
      code: 'x',
      state: query.get('state') ?? undefined,
      iss: `${evil.issuer}/`,
    });
    name(`${evil.issuer}/`, evil.issuer);
    expect(await failureOf(signIn(signInAt(evil.issuer)))).toMatchObject({ code: 'invalid_id_token', claim: 'iss' });
  });

  it('with metadata elsewhere is the configured one', async () => {
    const issuer = `${evil.issuer}/guid/v2.0/`;
    name(issuer);
    evil.authorizationResponse = query => ({ code: 'x', state: query.get('state') ?? undefined, iss: issuer });
    const metadataUrl = `${evil.issuer}/policy/v2.0/.well-known/openid-configuration`;
    expect(await signIn(signInAt(issuer, { metadataUrl }))).toMatchObject({ issuer, subject: 'alice' });
    name('https://other.example');
    expect(await failureCodeOf(signIn(signInAt(issuer, { metadataUrl })))).toBe('metadata_mismatch');
  });

  it('with tenants is the issuer of the tenant', async () => {
    expect(await signIn(multiTenant(tenant))).toMatchObject({
      issuer: `${evil.issuer}/${tenant}/v2.0`,
      subject: `${tenant}+alice`,
    });
  });

  it('with tenants refuses a tenant that the operator does not name, and a token of another tenant than it says', async () => {
    const refused = { code: 'invalid_id_token', claim: 'iss' };
    expect(await failureOf(signIn(multiTenant(personal)))).toMatchObject(refused);
    const at = multiTenant(tenant);
    const { idTokenClaims } = evil;
    for (const changes of [{ tid: personal }, { tid: undefined }, { iss: `${evil.issuer}/{tenantid}/v2.0` }]) {
      evil.idTokenClaims = given => ({ ...idTokenClaims(given), ...changes });
      expect(await failureOf(signIn(at))).toMatchObject({ code: 'invalid_id_token' });
    }
  });

  it.each([
    ['all tenants', '{tenantid}', undefined],
    ['this tenant', tenant, undefined],
    ['personal accounts', personal, 'invalid_id_token'],
  ])('with tenants and a key that signs for %s', async (_, signsFor, code) => {
    const at = multiTenant(tenant);
    evil.jwksAnswer = () => ({ body: { keys: [{ ...evil.publicJwk, issuer: `${evil.issuer}/${signsFor}/v2.0` }] } });
    if (code === undefined) expect(await signIn(at)).toMatchObject({ issuer: `${evil.issuer}/${tenant}/v2.0` });
    else expect(await failureOf(signIn(at))).toMatchObject({ code, claim: 'iss' });
  });
});
