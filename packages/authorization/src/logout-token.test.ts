import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { exportSPKI, importJWK, type JWTPayload, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type IdentityProviderConfigInput, identityProviderConfigSchema } from './identity-provider-config.ts';
import { createLogoutTokenVerifier } from './logout-token.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { failureOf } from './testing/failure-of.ts';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const fetch = createOutboundFetch({ allowLoopback: true });
let evil: EvilProvider;
beforeAll(async () => {
  evil = await startEvilProvider({ clientId: 'postern' });
});
afterAll(async () => {
  await evil.close();
  await fetch.close();
});

const seconds = () => Math.floor(Date.now() / 1000);
const honest = (changes: Record<string, unknown> = {}): JWTPayload =>
  Object.fromEntries(
    Object.entries({
      iss: evil.issuer,
      aud: 'postern',
      iat: seconds(),
      exp: seconds() + 120,
      jti: 'token-1',
      sub: 'alice',
      sid: 'session-1',
      events: { [EVENT]: {} },
      ...changes,
    }).filter(([, value]) => value !== undefined),
  );
const verifier = (changes: Partial<IdentityProviderConfigInput> = {}) =>
  createLogoutTokenVerifier({
    identityProvider: identityProviderConfigSchema.parse({
      name: 'idp',
      issuer: evil.issuer,
      clientId: 'postern',
      ...changes,
    }),
    fetch,
    now: Date.now,
  });
const verify = async (claims: JWTPayload, header: { alg?: string; kid?: string; typ?: string } = {}) =>
  verifier().verify(await evil.sign(claims, header));

describe('S133: logout tokens', () => {
  it.each([undefined, 'logout+jwt', 'JWT'])('are accepted with the type %s', async typ => {
    expect(await verify(honest(), typ === undefined ? {} : { typ })).toEqual({
      issuer: evil.issuer,
      sessionId: 'session-1',
      subject: 'alice',
      tokenId: 'token-1',
    });
  });

  it('may name only a session, or only a user', async () => {
    const { issuer } = evil;
    expect(await verify(honest({ sub: undefined }))).toEqual({ issuer, sessionId: 'session-1', tokenId: 'token-1' });
    expect(await verify(honest({ sid: undefined }))).toEqual({ issuer, subject: 'alice', tokenId: 'token-1' });
  });

  it('S194: name the configured issuer, whatever slash they have, or an allowed tenant', async () => {
    expect(await verify(honest({ iss: `${evil.issuer}/` }))).toMatchObject({ issuer: evil.issuer });
    const template = `${evil.issuer}/{tenantid}/v2.0`;
    const tenants = ['11111111-2222-4333-8444-555555555555'];
    evil.metadata['issuer'] = template;
    const byTenant = verifier({ issuer: template, metadataUrl: `${evil.issuer}/.well-known/x`, tenants });
    const signed = (tenant: string) => evil.sign(honest({ iss: template.replace('{tenantid}', tenant) }));
    const { issuer } = await byTenant.verify(await signed(String(tenants[0])));
    evil.metadata['issuer'] = evil.issuer;
    expect(issuer).toBe(template.replace('{tenantid}', String(tenants[0])));
    for (const tenant of ['{tenantid}', '22222222-2222-4333-8444-555555555555'])
      expect(await failureOf(byTenant.verify(await signed(tenant)))).toMatchObject({ claim: 'iss' });
  });

  it('name the user by the configured subject claim', async () => {
    const byOid = verifier({ subjectClaim: 'oid' });
    expect(await byOid.verify(await evil.sign(honest({ oid: 'o-1' })))).toMatchObject({ subject: 'o-1' });
    const other = byOid.verify(await evil.sign(honest({ sid: undefined })));
    expect(await failureOf(other)).toMatchObject({ code: 'invalid_logout_token', claim: 'oid' });
  });

  it.each<[string, Record<string, unknown>]>([
    ['another audience', { aud: 'other' }],
    ['another issuer', { iss: 'https://elsewhere.example' }],
    ['no expiry', { exp: undefined }],
    ['a past expiry', { exp: 1_000 }],
    ['no iat', { iat: undefined }],
    ['an iat in the past', { iat: seconds() - 3_600, exp: seconds() + 60 }],
    ['an iat in the future', { iat: seconds() + 3_600, exp: seconds() + 3_700 }],
    ['no jti', { jti: undefined }],
    ['an empty jti', { jti: '' }],
    ['a nonce, like an ID token', { nonce: 'n' }],
    ['no event, like an ID token', { events: undefined }],
    ['another event', { events: { 'https://schemas.openid.net/event/other': {} } }],
    ['an event that is no object', { events: { [EVENT]: true } }],
    ['events that are a list', { events: [EVENT] }],
    ['neither session nor user', { sid: undefined, sub: undefined }],
    ['a session that is no text', { sid: 7 }],
    ['an endless session', { sid: 'x'.repeat(513) }],
  ])('with %s are refused', async (_, changes) => {
    expect(await failureOf(verify(honest(changes)))).toMatchObject({ code: 'invalid_logout_token' });
  });

  it.each(['at+jwt', 'dpop+jwt', 'secevent+jwt', 7 as never])('of the type %s are refused', async typ => {
    expect(await failureOf(verify(honest(), { typ }))).toMatchObject({ code: 'invalid_logout_token' });
  });

  it('unsigned, signed with the public key as a secret, or with an unknown key are refused', async () => {
    const secret = new TextEncoder().encode(await exportSPKI((await importJWK(evil.publicJwk, 'ES256')) as CryptoKey));
    const tokens = [
      new UnsecuredJWT(honest()).encode(),
      await evil.sign(honest(), { alg: 'HS256' }, secret),
      await evil.sign(honest(), { kid: 'unknown' }),
      `${(await evil.sign(honest())).slice(0, -6)}AAAAAA`,
      'x.y.z',
      '',
      'a'.repeat(20_000),
    ];
    for (const token of tokens)
      expect(await failureOf(verifier().verify(token))).toMatchObject({ code: 'invalid_logout_token' });
  });

  it('cannot be checked while the identity provider does not serve its keys', async () => {
    await using away = await startEvilProvider({ clientId: 'postern' });
    away.jwksAnswer = () => ({ status: 503, body: '' });
    const verifying = createLogoutTokenVerifier({
      identityProvider: identityProviderConfigSchema.parse({ name: 'idp', issuer: away.issuer, clientId: 'postern' }),
      fetch,
      now: Date.now,
    }).verify(await away.sign(honest({ iss: away.issuer })));
    expect(await failureOf(verifying)).toMatchObject({ code: 'provider_unavailable' });
  });

  it('of another issuer fetch no keys', async () => {
    const before = evil.requests().length;
    await failureOf(verifier().verify(new UnsecuredJWT({ iss: 'https://elsewhere.example' }).encode()));
    expect(evil.requests()).toHaveLength(before);
  });
});
