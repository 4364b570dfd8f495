import {
  driveAuthorization,
  type EvilProvider,
  startEvilProvider,
  startOpenIdProvider,
} from '@postern/testkit/providers';
import { exportSPKI, importJWK, type JWTPayload } from 'jose';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAccessTokenVerifier } from './access-token-verifier.ts';
import { type IdentityProviderConfigInput, identityProviderConfigSchema } from './identity-provider-config.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { providerConfigSchema } from './presets/expand-preset.ts';
import { createProviderRegistry } from './provider.ts';
import { failureCodeOf, failureOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';

const audience = 'https://mcp.example/issues';
const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

function verifier(issuers: string[], changes: Partial<IdentityProviderConfigInput> = {}, now = Date.now) {
  return createAccessTokenVerifier({
    identityProviders: issuers.map((issuer, index) =>
      identityProviderConfigSchema.parse({
        name: `idp-${index}`,
        issuer,
        clientId: 'postern',
        accessTokens: { audience },
        ...changes,
      }),
    ),
    fetchFor: () => fetch,
    now,
  });
}

describe('access tokens of a real provider', () => {
  const redirectUri = new URL('http://127.0.0.1:2/mcp-client/callback');

  /** Returns an access token of an MCP client for the MCP server, and the OpenID provider that issued it. */
  async function issued(p: { pairwise?: boolean; accessTokenFormat?: 'jwt' | 'opaque' } = {}) {
    const op = await startOpenIdProvider({
      clients: [{ clientId: 'mcp-client', redirectUris: [redirectUri.href] }],
      scopes: ['issues'],
      accessTokenFormat: 'jwt',
      ...p,
    });
    const config = providerConfigSchema.parse({
      name: 'mcp',
      displayName: 'MCP',
      issuer: op.issuer,
      clientId: 'mcp-client',
      resources: [audience],
    });
    const mcpClient = createProviderRegistry({ providers: [config], fetch, now: Date.now }).get('mcp');
    if (!mcpClient) throw new Error('the registry does not know its provider');
    const request = { redirectUri, state: 'state', scopes: ['issues'], resource: audience };
    const start = await mcpClient.start(request);
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const { accessToken } = await finish(mcpClient, { ...request, ...start, callbackUrl });
    return { op, accessToken };
  }

  it('returns issuer and subject of a JWT access token', async () => {
    const { op, accessToken } = await issued();
    await using _ = op;
    const verified = await verifier([op.issuer]).verify(accessToken, { allowedIssuers: [op.issuer] });
    expect(verified).toEqual({ issuer: op.issuer, subject: 'alice' });
  });

  it('S05: with pairwise subjects, reads the configured claim that every client receives', async () => {
    const { op, accessToken } = await issued({ pairwise: true });
    await using _ = op;
    const allowedIssuers = [op.issuer];
    const bySub = await verifier([op.issuer]).verify(accessToken, { allowedIssuers });
    expect(bySub.subject).toBe(op.subjectOf('alice', 'mcp-client'));
    expect(bySub.subject).not.toBe(op.subjectOf('alice', 'postern'));
    const byClaims = verifier([op.issuer], { subjectClaim: 'tid+oid' });
    expect((await byClaims.verify(accessToken, { allowedIssuers })).subject).toBe('tenant-1+oid-alice');
    const own = verifier([op.issuer], { accessTokens: { audience, subjectClaim: 'oid' } });
    expect((await own.verify(accessToken, { allowedIssuers })).subject).toBe('oid-alice');
  });

  it('rejects an opaque access token', async () => {
    const { op, accessToken } = await issued({ accessTokenFormat: 'opaque' });
    await using _ = op;
    const verify = verifier([op.issuer]).verify(accessToken, { allowedIssuers: [op.issuer] });
    expect(await failureCodeOf(verify, [accessToken])).toBe('invalid_access_token');
  });
});

describe('access tokens of any kind', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
  });
  afterEach(() => evil.close());

  const seconds = () => Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const honest = (changes: JWTPayload = {}): JWTPayload => ({
    iss: evil.issuer,
    aud: audience,
    sub: 'alice',
    iat: seconds(),
    exp: seconds() + 300,
    ...changes,
  });

  const verify = (token: string, at = verifier([evil.issuer])) => at.verify(token, { allowedIssuers: [evil.issuer] });

  it.each([undefined, 'at+jwt', 'application/at+jwt', 'JWT'])('accepts the typ %s', async typ => {
    const token = await evil.sign(honest(), typ === undefined ? {} : { typ });
    expect(await verify(token)).toEqual({ issuer: evil.issuer, subject: 'alice' });
  });

  it.each(['logout+jwt', 'dpop+jwt', 'secevent+jwt', 'oauth-authz-req+jwt', 7 as never])(
    'rejects the typ %s',
    async typ => {
      const token = await evil.sign(honest(), { typ });
      expect(await failureCodeOf(verify(token), [token])).toBe('invalid_access_token');
    },
  );

  it.each([
    ['another audience', () => ({ aud: 'https://other.example' })],
    ['the audience of ID tokens', () => ({ aud: 'postern' })],
    ['no audience', () => ({ aud: undefined })],
    ['an expiry in the past', () => ({ exp: seconds() - 60 })],
    ['no expiry', () => ({ exp: undefined })],
    ['an nbf in the future', () => ({ nbf: seconds() + 60 })],
    ['no subject', () => ({ sub: undefined })],
    ['a number as subject', () => ({ sub: 7 as never })],
  ])('rejects claims with %s', async (_, changes) => {
    const token = await evil.sign(honest(changes() as JWTPayload));
    expect(await failureCodeOf(verify(token), [token])).toBe('invalid_access_token');
  });

  it.each([
    ['a token with alg none', async () => `${encode({ alg: 'none' })}.${encode(honest())}.`],
    ['a token with alg NONE', async () => `${encode({ alg: 'NONE' })}.${encode(honest())}.`],
    [
      'a token signed with HS256 and the public key as PEM',
      async () => {
        const pem = await exportSPKI((await importJWK(evil.publicJwk, 'ES256')) as CryptoKey);
        return evil.sign(honest(), { alg: 'HS256' }, Buffer.from(pem));
      },
    ],
    [
      'a token signed with HS256 and the public key as JWK',
      async () => evil.sign(honest(), { alg: 'HS256' }, Buffer.from(JSON.stringify(evil.publicJwk))),
    ],
    [
      'a token signed with another key under the known kid',
      async () => {
        await using other = await startEvilProvider({ clientId: 'x' });
        return other.sign(honest());
      },
    ],
    ['a token with an unknown kid', async () => evil.sign(honest(), { kid: 'unknown' })],
    ['a token without signature', async () => (await evil.sign(honest())).replace(/[^.]+$/, '')],
    [
      'a token that was changed after signing',
      async () => {
        const [header, , signature] = (await evil.sign(honest())).split('.');
        return `${header}.${encode(honest({ sub: 'bob' }))}.${signature}`;
      },
    ],
    ['text that is not a JWT', async () => 'canary-token'],
    ['an empty text', async () => ''],
    ['a JWE', async () => `${encode({ alg: 'dir', enc: 'A256GCM' })}.a.b.c.d`],
    ['a token that is too long', async () => evil.sign(honest({ padding: 'x'.repeat(20_000) }))],
  ])('rejects %s', async (_, make) => {
    const token = await make();
    expect(await failureCodeOf(verify(token), token === '' ? [] : [token])).toBe('invalid_access_token');
  });

  it('ignores keys in the header of the token', async () => {
    await using other = await startEvilProvider({ clientId: 'x' });
    const header: object = { jwk: other.publicJwk, jku: `${other.issuer}/jwks` };
    const token = await other.sign(honest(), header);
    expect(await failureCodeOf(verify(token))).toBe('invalid_access_token');
    expect(other.requests()).toHaveLength(0);
  });

  it('refuses an issuer that is not configured, or not allowed for the MCP server, before any request', async () => {
    const token = await evil.sign(honest());
    const other = await evil.sign(honest({ iss: `${evil.issuer}//` }));
    const at = verifier([evil.issuer]);
    expect(await failureCodeOf(at.verify(token, { allowedIssuers: ['https://other.example'] }))).toBe(
      'issuer_not_allowed',
    );
    expect(await failureCodeOf(verify(other))).toBe('issuer_not_allowed');
    expect(await failureCodeOf(verify(await evil.sign(honest({ iss: undefined as never }))))).toBe(
      'issuer_not_allowed',
    );
    expect(evil.requests()).toHaveLength(0);
  });

  it('S194: returns the configured text of an issuer, whatever slash the token has', async () => {
    const token = await evil.sign(honest({ iss: `${evil.issuer}/` }));
    expect(await verifier([evil.issuer]).verify(token, { allowedIssuers: [evil.issuer] })).toMatchObject({
      issuer: evil.issuer,
    });
  });

  it('S194: returns the issuer of an allowed tenant, and only for keys that sign for it', async () => {
    const template = `${evil.issuer}/{tenantid}/v2.0`;
    const [tenant, personal] = ['11111111-2222-4333-8444-555555555555', '9188040d-6c67-4c5b-b112-36a304b66dad'];
    const issuer = template.replace('{tenantid}', tenant);
    evil.metadata['issuer'] = template;
    const at = verifier([template], { metadataUrl: `${evil.issuer}/.well-known/x`, tenants: [tenant.toUpperCase()] });
    const verifyFrom = async (iss: string) =>
      at.verify(await evil.sign(honest({ iss })), { allowedIssuers: [issuer, template] });
    evil.jwksAnswer = () => ({ body: { keys: [{ ...evil.publicJwk, issuer: template }] } });
    expect(await verifyFrom(issuer)).toMatchObject({ issuer });
    for (const iss of [template, template.replace('{tenantid}', personal), evil.issuer])
      expect(await failureCodeOf(verifyFrom(iss))).toBe('issuer_not_allowed');

    const elsewhere = verifier([template], { metadataUrl: `${evil.issuer}/.well-known/x`, tenants: [tenant] });
    evil.jwksAnswer = () => ({
      body: { keys: [{ ...evil.publicJwk, issuer: template.replace('{tenantid}', personal) }] },
    });
    const forged = elsewhere.verify(await evil.sign(honest({ iss: issuer })), { allowedIssuers: [issuer] });
    expect(await failureCodeOf(forged)).toBe('invalid_access_token');
  });

  it('S194: never takes the keys of one identity provider for another with the same template', async () => {
    await using second = await startEvilProvider({ clientId: 'postern' });
    const template = 'https://id.example/{tenantid}/v2.0';
    const tenants = ['11111111-2222-4333-8444-555555555555', '66666666-7777-4888-8999-000000000000'];
    const allowedIssuers = tenants.map(tenant => template.replace('{tenantid}', tenant));
    const at = createAccessTokenVerifier({
      identityProviders: [evil, second].map(({ metadata }, index) =>
        identityProviderConfigSchema.parse({
          name: `idp-${index}`,
          issuer: template,
          metadataUrl: `${evil.issuer}/x`,
          clientId: 'postern',
          tenants: tenants.slice(index, index + 1),
          accessTokens: { audience, jwksUri: String(metadata['jwks_uri']) },
        }),
      ),
      fetchFor: () => fetch,
      now: Date.now,
    });
    const [one = '', two = ''] = allowedIssuers;
    const verifyFrom = async (signer: EvilProvider, iss: string) =>
      at.verify(await signer.sign(honest({ iss })), { allowedIssuers });
    expect(await verifyFrom(evil, one)).toMatchObject({ issuer: one });
    expect(await failureCodeOf(verifyFrom(evil, two))).toBe('invalid_access_token');
    expect(await verifyFrom(second, two)).toMatchObject({ issuer: two });
  });

  it('rejects an issuer without configured access tokens', async () => {
    const at = verifier([evil.issuer], { accessTokens: undefined });
    expect(await failureCodeOf(verify(await evil.sign(honest()), at))).toBe('issuer_not_allowed');
  });

  it('T9: rejects an ID token, even if the MCP server names its audience', async () => {
    const token = await evil.sign(honest({ aud: 'postern' }));
    const verified = verifier([evil.issuer]).verify(token, { allowedIssuers: [evil.issuer], audience: 'postern' });
    expect(await failureCodeOf(verified)).toBe('invalid_access_token');
  });

  it('T9: accepts no token without an audience, from the configuration or from the MCP server', async () => {
    const at = verifier([evil.issuer], { accessTokens: {} });
    const token = await evil.sign(honest());
    const allowedIssuers = [evil.issuer];
    expect(await failureCodeOf(at.verify(token, { allowedIssuers }))).toBe('invalid_access_token');
    expect(await at.verify(token, { allowedIssuers, audience })).toMatchObject({ subject: 'alice' });
    const other = at.verify(token, { allowedIssuers, audience: ['https://other.example'] });
    expect(await failureCodeOf(other)).toBe('invalid_access_token');
  });

  it('rejects a token of one issuer that is signed by another', async () => {
    await using other = await startEvilProvider({ clientId: 'x' });
    const at = verifier([evil.issuer, other.issuer]);
    const forged = await other.sign(honest({ iss: evil.issuer }));
    const verifyForged = at.verify(forged, { allowedIssuers: [evil.issuer, other.issuer] });
    expect(await failureCodeOf(verifyForged)).toBe('invalid_access_token');
  });

  it('uses a configured key set without discovery', async () => {
    const at = verifier([evil.issuer], { accessTokens: { audience, jwksUri: `${evil.issuer}/jwks` } });
    expect(await verify(await evil.sign(honest()), at)).toMatchObject({ subject: 'alice' });
    expect(evil.requests('metadata')).toHaveLength(0);
  });

  it('N11: checks the expiry by our clock, with a tolerance of 30 seconds', async () => {
    const token = await evil.sign(honest());
    const at = (ahead: number) => verifier([evil.issuer], {}, () => Date.now() + ahead * 1000);
    expect(await verify(token, at(315))).toMatchObject({ subject: 'alice' });
    expect(await failureCodeOf(verify(token, at(345)))).toBe('invalid_access_token');
  });

  it.each([
    ['a 503', { status: 503, body: '' }],
    ['a 404', { status: 404, body: '' }],
    ['HTML', { body: '<html>' }],
    ['JSON without keys', { body: '{}' }],
  ])('is retryable if the key set URL returns %s', async (_, answer) => {
    evil.jwksAnswer = () => answer;
    const error = await failureOf(verify(await evil.sign(honest())));
    expect(error).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });
});
