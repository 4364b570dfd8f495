import { driveAuthorization, type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectBy, providerFrom, redirectUri } from './connect-fixture.ts';
import { canaries, failureCodeOf } from './failure-of.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';

const { state, clientSecret } = canaries;
const refusal = { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: '' };

let evil: EvilProvider;
const fetch = createOutboundFetch({ allowLoopback: true });
beforeEach(async () => {
  evil = await startEvilProvider({ clientId: 'postern' });
});
afterEach(() => evil.close());
afterAll(() => fetch.close());

const connect = connectBy(driveAuthorization);
const provider = (changes: Partial<ProviderConfigInput> = {}) =>
  providerFrom({ issuer: evil.issuer, clientSecret, ...changes }, { fetch });

describe('the connected account', () => {
  it('a whole number as id (GitHub)', async () => {
    evil.userinfoAnswer = () => ({ body: { id: 583231, login: 'octocat' } });
    const account = { from: 'userinfo', idClaim: 'id', nameClaim: 'login' } as const;
    expect((await connect(provider({ account }))).account).toEqual({ id: '583231', name: 'octocat' });
  });

  it('userinfo of another person than the ID token → refused', async () => {
    evil.userinfoAnswer = () => ({ body: { sub: 'mallory' } });
    const at = provider({ account: { from: 'userinfo' }, baseScopes: ['openid'] });
    expect(await failureCodeOf(connect(at))).toBe('invalid_userinfo');
  });

  it.each([
    ['no id', {}],
    ['an object as id', { sub: {} }],
    ['a fraction as id', { sub: 1.5 }],
  ])('%s → refused', async (_, body) => {
    evil.userinfoAnswer = () => ({ body });
    expect(await failureCodeOf(connect(provider({ account: { from: 'userinfo' } })))).toBe('invalid_userinfo');
  });

  it.each([
    ['two people', { body: '{"sub":"alice","sub":"mallory"}' }],
    ['a refusal of the token, which says nothing about the client', refusal],
  ])('N3: %s → refused', async (_, answer) => {
    evil.userinfoAnswer = () => answer;
    expect(await failureCodeOf(connect(provider({ account: { from: 'userinfo' } })))).toBe('invalid_userinfo');
  });

  it('N4: an ID token signed by somebody else → refused', async () => {
    await using other = await startEvilProvider({ clientId: 'postern' });
    evil.sign = other.sign;
    expect(await failureCodeOf(connect(provider({ account: { from: 'id_token' } })))).toBe('invalid_id_token');
  });

  it('an ID token that nobody can verify is not taken', async () => {
    const at = provider({
      authorizationEndpoint: `${evil.issuer}/auth`,
      tokenEndpoint: `${evil.issuer}/token`,
      issuer: undefined,
      baseScopes: ['openid'],
    });
    evil.tokenAnswer = async () => ({ body: { ...good(), id_token: await evil.sign({ sub: 'mallory' }) } });
    const start = await at.start({ redirectUri, state, scopes: ['repo'] });
    expect(start.nonce).toBeUndefined();
    const grant = await connect(at);
    expect(grant.idToken).toBeUndefined();
    expect(grant.account).toBeUndefined();
  });

  it('an ID token that was asked for without a nonce is not taken', async () => {
    const at = provider({ baseScopes: ['openid'] });
    const begun = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(begun.authorizationUrl, 'alice');
    const { nonce: _, ...start } = begun;
    evil.tokenAnswer = async () => ({ body: { ...good(), id_token: await evil.sign({ sub: 'mallory' }) } });
    const grant = await at.finish({ ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
    expect(grant).toMatchObject({ accessToken: 'x' });
    expect(grant).not.toHaveProperty('idToken');
  });

  const good = () => ({ access_token: 'x', token_type: 'Bearer' });
});
