import { generateKeyPairSync } from 'node:crypto';
import {
  driveAuthorization,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { exportJWK, generateKeyPair, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClientKey, type ClientKeyAlgorithm, clientKeySchema } from './client-authentication.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, held, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureOf } from './testing/failure-of.ts';
import { recorder } from './testing/outbound-fetch-fixture.ts';

const clientSecret = `${canaries.clientSecret}-of-32-bytes-or-more`;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());

/** The algorithms that oidc-provider verifies. */
const algorithms: readonly ClientKeyAlgorithm[] = ['ES256', 'RS256', 'PS256', 'EdDSA'];

/** Private JWK as the operator writes it, and the public one that the provider has. */
async function newKey(algorithm: ClientKeyAlgorithm) {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const kid = `key-${algorithm}`;
  return {
    clientKey: JSON.stringify({ ...(await exportJWK(privateKey)), alg: algorithm, kid }),
    publicJwk: { ...(await exportJWK(publicKey)), alg: algorithm, kid, use: 'sig' },
  };
}

describe('S21, T11: client assertions at a real provider', () => {
  const keys = new Map<string, Awaited<ReturnType<typeof newKey>>>();
  let op: TestProvider;

  beforeAll(async () => {
    for (const algorithm of algorithms) keys.set(algorithm, await newKey(algorithm));
    op = await startOpenIdProvider({
      pushedAuthorization: 'offered',
      assertionAudience: 'issuer',
      scopes: ['repo'],
      clients: [
        ...[...keys].map(([algorithm, { publicJwk }]) => ({
          clientId: algorithm,
          jwks: { keys: [publicJwk] },
          redirectUris: [redirectUri.href],
          metadata: { token_endpoint_auth_signing_alg: algorithm },
        })),
        {
          clientId: 'hmac',
          clientSecret,
          authentication: 'client_secret_jwt' as const,
          redirectUris: [redirectUri.href],
        },
      ],
    });
  });
  beforeEach(() => op.clearRequests());
  afterAll(() => op.close());

  const provider = (clientId: string, changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: op.issuer, clientId, clientKey: keys.get(clientId)?.clientKey, ...changes }, { fetch });

  it.each(algorithms)(
    '%s: every assertion has the issuer as its only audience and a new id, at every endpoint',
    async algorithm => {
      const grant = await connect(provider(algorithm));
      const { refreshToken = '' } = await provider(algorithm).refresh(held(grant));
      await provider(algorithm).revoke({ ...held(grant), refreshToken });

      const assertions = op.assertions();
      expect(assertions.map(({ endpoint }) => endpoint)).toEqual([
        'pushed_authorization_request',
        'token',
        'token',
        'revocation',
        'revocation',
      ]);
      for (const assertion of assertions) {
        expect(assertion).toMatchObject({ aud: op.issuer, iss: algorithm, sub: algorithm });
        expect(assertion).toMatchObject({ alg: algorithm, kid: `key-${algorithm}`, lifetimeSeconds: 60 });
        expect(assertion.status).toBeLessThan(300);
      }
      expect(new Set(assertions.map(({ jti }) => jti)).size).toBe(5);
      expect(op.secretsInQueries()).toEqual([]);
    },
  );

  it('client_secret_jwt: every assertion has the issuer as audience, and no request contains the secret', async () => {
    const at = provider('hmac', { clientSecret, clientAuthentication: 'client_secret_jwt' });
    await connect(at);
    expect(op.assertions()).toMatchObject([
      { endpoint: 'pushed_authorization_request', aud: op.issuer, alg: 'HS256' },
      { endpoint: 'token', aud: op.issuer, alg: 'HS256' },
    ]);
    expect(op.requests().some(({ form }) => Object.values(form).includes(clientSecret))).toBe(false);
  });

  it('a key that the provider does not know is rejected, and the error does not contain it', async () => {
    const other = await newKey('ES256');
    const error = await failureOf(connect(provider('ES256', { clientKey: other.clientKey })), [other.clientKey]);
    expect(error).toMatchObject({ code: 'provider_error', providerError: 'invalid_client' });
  });

  it.each(['ES384', 'ES512', 'Ed25519'] as const)('%s: the public key verifies the assertion', async algorithm => {
    await using evil = await startEvilProvider({ clientId: 'postern' });
    const { clientKey, publicJwk } = await newKey(algorithm);
    await connect(provider('postern', { issuer: evil.issuer, clientKey }));
    const assertion = evil.requests('token')[0]?.form['client_assertion'] ?? '';
    const { payload, protectedHeader } = await jwtVerify(assertion, publicJwk);
    expect(payload).toMatchObject({ aud: evil.issuer, iss: 'postern', sub: 'postern' });
    expect(protectedHeader).toEqual({ alg: algorithm, kid: publicJwk.kid });
  });

  it('T11: an honest provider rejects the assertions that a hostile server received', async () => {
    await using evil = await startEvilProvider({ clientId: 'ES256' });
    evil.offer('pushed_authorization_request_endpoint');
    await connect(provider('ES256', { issuer: evil.issuer }));
    for (const endpoint of ['pushed_authorization_request', 'token'] as const) {
      const assertion = evil.requests(endpoint)[0]?.form['client_assertion'] ?? '';
      const { publicJwk } = keys.get('ES256') ?? {};
      if (!publicJwk) throw new Error('there is no key');
      const { payload } = await jwtVerify(assertion, publicJwk);
      expect(payload.aud).toBe(evil.issuer);
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code: 'x',
        redirect_uri: redirectUri.href,
        client_id: 'ES256',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      });
      const answer = await fetch(`${op.issuer}/token`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect([answer.status, await answer.json()]).toMatchObject([401, { error: 'invalid_client' }]);
    }
  });
});

describe('client_secret_basic (RFC 6749 section 2.3.1)', () => {
  it.each([
    ['leaves typical ids and secrets unchanged', 'Iv1.8a-61_f9', 'a-b_c.d*E9', 'Iv1.8a-61_f9:a-b_c.d*E9'],
    ['encodes characters with a meaning', 'a:b', '%2B+ &=/ü', 'a%3Ab:%252B%2B+%26%3D%2F%C3%BC'],
  ])('%s', async (_, clientId, clientSecret, credentials) => {
    const { asked, fetch } = recorder(200, { access_token: 'a', token_type: 'bearer' });
    const endpoints = { authorizationEndpoint: 'https://as.example/a', tokenEndpoint: 'https://as.example/t' };
    const at = providerFrom({ ...endpoints, clientId, clientSecret }, { fetch });
    await at.refresh({ refreshToken: 'r', scopes: [], redirectUri, issuer: undefined, clientId });
    const headers = new Headers(asked[0]?.headers);
    expect(headers.get('authorization')).toBe(`Basic ${btoa(credentials)}`);
    const [id, secret] = credentials.split(':').map(part => new URLSearchParams(`=${part}`).get(''));
    expect([id, secret]).toEqual([clientId, clientSecret]);
  });
});

describe('clientKeySchema', () => {
  const parse = (value: unknown): ClientKey | string[] => {
    const { success, data, error } = clientKeySchema.safeParse(
      typeof value === 'string' ? value : JSON.stringify(value),
    );
    return success ? data : error.issues.map(({ message }) => message);
  };
  const jwkOf = async (algorithm: string, options = {}) =>
    exportJWK((await generateKeyPair(algorithm, { extractable: true, ...options })).privateKey);

  it.each([
    ['ES256', 'ES256'],
    ['ES384', 'ES384'],
    ['ES512', 'ES512'],
    ['RS256', 'RS256'],
    ['EdDSA', 'EdDSA'],
  ])('for a %s key without alg, the algorithm is %s', async (algorithm, expected) => {
    expect(parse(await jwkOf(algorithm))).toMatchObject({ algorithm: expected });
  });

  it.each([
    ['text that is not JSON', () => '{"kty":"EC","d":"canary-of-key'],
    ['a list', () => []],
    ['a public key', async () => ({ ...(await jwkOf('ES256')), d: undefined })],
    ['a secret', () => ({ kty: 'oct', k: 'canary-of-key' })],
    ['a key for encryption', async () => ({ ...(await jwkOf('ES256')), use: 'enc' })],
    ['an algorithm of another type', async () => ({ ...(await jwkOf('ES256')), alg: 'RS256' })],
    ['the algorithm HS256', async () => ({ ...(await jwkOf('ES256')), alg: 'HS256' })],
    ['a number as kid', async () => ({ ...(await jwkOf('ES256')), kid: 7 })],
    ['a key for another purpose', () => jwkOf('ECDH-ES', { crv: 'X25519' })],
    ['the halves of two keys', async () => ({ ...(await jwkOf('ES256')), d: (await jwkOf('ES256')).d })],
    ['malformed members', () => ({ kty: 'EC', crv: 'P-256', x: 'a', y: 'b', d: 'canary-of-key' })],
  ])('refuses %s, without quoting it', async (_, key) => {
    const jwk = await key();
    const faults = parse(jwk);
    expect(faults).toHaveLength(1);
    const secret = typeof jwk === 'object' && 'd' in jwk && jwk.d ? jwk.d : 'canary-of-key';
    expect(JSON.stringify(faults)).not.toContain(secret);
  });

  it('refuses RSA keys of less than 2048 bits', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    expect(parse(privateKey.export({ format: 'jwk' }))).toEqual([expect.any(String)]);
  });
});
