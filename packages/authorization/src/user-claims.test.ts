import { driveAuthorization, type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureCodeOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';
import { displayText, subjectFromClaims } from './user-claims.ts';

const { state, clientSecret } = canaries;
const refusal = { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: '' };

describe('the connected account', () => {
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

  it('may have a whole number as id (GitHub)', async () => {
    evil.userinfoAnswer = () => ({ body: { id: 583231, login: 'octocat' } });
    const account = { from: 'userinfo', idClaim: 'id', nameClaim: 'login' } as const;
    expect((await connect(provider({ account }))).account).toEqual({ id: '583231', name: 'octocat' });
  });

  it('is refused if userinfo and ID token have different subjects', async () => {
    evil.userinfoAnswer = () => ({ body: { sub: 'mallory' } });
    const at = provider({ account: { from: 'userinfo' }, baseScopes: ['openid'] });
    expect(await failureCodeOf(connect(at))).toBe('invalid_userinfo');
  });

  it.each([
    ['no id', {}],
    ['an object as id', { sub: {} }],
    ['a fraction as id', { sub: 1.5 }],
  ])('is refused with %s', async (_, body) => {
    evil.userinfoAnswer = () => ({ body });
    expect(await failureCodeOf(connect(provider({ account: { from: 'userinfo' } })))).toBe('invalid_userinfo');
  });

  it('N3: is refused after a duplicate sub', async () => {
    evil.userinfoAnswer = () => ({ body: '{"sub":"alice","sub":"mallory"}' });
    expect(await failureCodeOf(connect(provider({ account: { from: 'userinfo' } })))).toBe('invalid_userinfo');
  });

  it.each([
    ['a 401 with a challenge', refusal],
    ['a 401', { status: 401, body: '' }],
    ['a 403', { status: 403, body: '{}' }],
  ])('is unknown if userinfo refuses the token, which may be for another API: %s', async (_, answer) => {
    evil.userinfoAnswer = () => answer;
    const grant = await connect(provider({ account: { from: 'userinfo' } }));
    expect(grant).toMatchObject({ scopes: ['repo'] });
    expect(grant).not.toHaveProperty('account');
  });

  it('N4: is refused if another provider signed the ID token', async () => {
    await using other = await startEvilProvider({ clientId: 'postern' });
    evil.sign = other.sign;
    expect(await failureCodeOf(connect(provider({ account: { from: 'id_token' } })))).toBe('invalid_id_token');
  });

  it('does not come from an ID token that cannot be verified', async () => {
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

  it('does not come from an ID token that was requested without a nonce', async () => {
    const at = provider({ baseScopes: ['openid'] });
    const begun = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(begun.authorizationUrl, 'alice');
    const { nonce: _, ...start } = begun;
    evil.tokenAnswer = async () => ({ body: { ...good(), id_token: await evil.sign({ sub: 'mallory' }) } });
    const grant = await finish(at, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
    expect(grant).toMatchObject({ accessToken: 'x' });
    expect(grant).not.toHaveProperty('idToken');
  });

  const good = () => ({ access_token: 'x', token_type: 'Bearer' });
});

describe('S05: subjectFromClaims', () => {
  it('returns a single claim unchanged', () => {
    expect(subjectFromClaims({ sub: 'a+b' }, 'sub')).toBe('a+b');
  });

  it('joins several claims in the configured order', () => {
    expect(subjectFromClaims({ oid: 'o', tid: 't', sub: 's' }, 'tid+oid')).toBe('t+o');
  });

  it.each([
    ['missing', {}],
    ['empty', { tid: 't', oid: '' }],
    ['a number', { tid: 't', oid: 7 }],
    ['an object', { tid: 't', oid: { toString: () => 'o' } }],
    ['too long', { tid: 't', oid: 'o'.repeat(256) }],
    ['ambiguous when joined', { tid: 't+o', oid: 'x' }],
    ['inherited', Object.create({ tid: 't', oid: 'o' }) as Record<string, unknown>],
  ])('returns undefined if a claim is %s', (_, claims) => {
    expect(subjectFromClaims(claims, 'tid+oid')).toBeUndefined();
  });
});

describe('T28: displayText', () => {
  it.each([
    ['Alice Example', 'Alice Example'],
    ['  Alice \n Example ', 'Alice Example'],
    ['Alice\u202eecilA', 'Alice ecilA'],
    ['a\u0000b\u200bc\u2028d', 'a b c d'],
    ['e\u0301', '\u00e9'],
    [`x${'\u0336'.repeat(600)}`, `x${'\u0336'.repeat(4)}`],
    ['A\u3164\u2800B', 'A B'],
    ['❤\ufe0f', '❤\ufe0f'],
  ])('converts %j to %j', (text, shown) => {
    expect(displayText(text)).toBe(shown);
  });

  it.each([undefined, null, 7, {}, '', ' ', '\u200b\u202e', '\u3164', '\u2800', '\ufe0f', '\u034f', '\u0301'])(
    'returns undefined for %j',
    value => {
      expect(displayText(value)).toBeUndefined();
    },
  );

  it('returns at most 200 characters', () => {
    expect(displayText('😀'.repeat(1000))).toBe('😀'.repeat(200));
  });
});
