import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createOutboundFetch, createSignIn, identityProviderConfigSchema } from '@postern/authorization';
import { newElicitationId, shardOf, systemEntropy } from '@postern/elicitation';
import { driveAuthorization, type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LOGIN_TRANSACTION_SECONDS } from '../pages/browser-cookies.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createSignInFlow, parseReturnTo } from './sign-in-flow.ts';

// The identity provider accepts a code twice, so only the gateway prevents a second sign-in with the same response.

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

let evil: EvilProvider;
beforeEach(async () => {
  evil = await startEvilProvider({ clientId: 'postern' });
});
afterEach(() => evil.close());

const request = { ip: '192.0.2.1', raw: new IncomingMessage(new Socket()) };

/** A browser that the identity provider has redirected to the callback. */
async function setUp() {
  const stage = createFlowStage({});
  const config = identityProviderConfigSchema.parse({
    name: 'example-id',
    issuer: evil.issuer,
    clientId: 'postern',
    clientSecret: 'secret',
  });
  const signIn = createSignIn({ identityProvider: config, fetch, now: Date.now });
  const identityProvider = { config, signIn };
  const flow = createSignInFlow({ ...stage, identityProviders: [identityProvider], parseReturnTo });
  const elsewhere = createSignInFlow({
    ...stage,
    config: { ...stage.config, publicUrl: 'https://other.example' },
    identityProviders: [identityProvider],
    parseReturnTo,
  });
  const start = () => flow.start({ identityProvider, returnTo: 'me', forceLogin: false });
  const { authorizationUrl, cookie } = await start();
  const callbackUrl = await driveAuthorization(authorizationUrl, 'alice');
  return { ...stage, flow, elsewhere, callbackUrl, cookie, start, identityProvider };
}

it('S08: rejects a replayed callback, although the browser kept the cookie and the provider accepts the code again', async () => {
  const { flow, callbackUrl, cookie } = await setUp();
  expect(await flow.finish(callbackUrl, [cookie], request)).toMatchObject({ result: 'signed_in', returnTo: 'me' });
  expect(await flow.finish(callbackUrl, [cookie], request)).toEqual({ result: 'unknown' });
  expect(evil.requests('token')).toHaveLength(1);
});

it('S08: completes exactly one of ten simultaneous callbacks with the same state', async () => {
  const { flow, callbackUrl, cookie } = await setUp();
  const results = await Promise.all(Array.from({ length: 10 }, () => flow.finish(callbackUrl, [cookie], request)));
  expect(results.filter(({ result }) => result === 'signed_in')).toHaveLength(1);
  expect(evil.requests('token')).toHaveLength(1);
});

it('S65: never exchanges a code that arrives at the redirect URI of another identity provider, and ends the transaction', async () => {
  const { flow, callbackUrl, cookie } = await setUp();
  const elsewhere = new URL(callbackUrl);
  elsewhere.pathname = '/login/callback/other-id';
  expect(await flow.finish(elsewhere, [cookie], request)).toMatchObject({
    result: 'refused',
    error: { code: 'issuer_mismatch' },
    returnTo: 'me',
  });
  expect(await flow.finish(callbackUrl, [cookie], request)).toEqual({ result: 'unknown' });
  expect(evil.requests('token')).toEqual([]);
});

it('S194: ends at the identity provider at which it began, also if another has the same template as issuer', async () => {
  const { identityProvider, ...stage } = await setUp();
  const other = { ...identityProvider, config: { ...identityProvider.config, name: 'other-id' } };
  const flow = createSignInFlow({ ...stage, identityProviders: [other, identityProvider], parseReturnTo });
  const { authorizationUrl, cookie } = await flow.start({ identityProvider, returnTo: 'me', forceLogin: false });
  const callbackUrl = await driveAuthorization(authorizationUrl, 'alice');
  expect(await flow.finish(callbackUrl, [cookie], request)).toMatchObject({
    result: 'signed_in',
    browserSession: { origin: { identityProvider: 'example-id' } },
  });
});

it('S50: rejects a transaction of another deployment with the same vault key', async () => {
  const { flow, callbackUrl, cookie, elsewhere } = await setUp();
  expect(await elsewhere.finish(callbackUrl, [cookie], request)).toEqual({ result: 'unknown' });
  expect(await flow.finish(callbackUrl, [cookie], request)).toMatchObject({ result: 'signed_in' });
});

it.each(['no cookie', 'the cookie of another sign-in'])('S08: rejects a callback with %s', async which => {
  const { flow, callbackUrl, start } = await setUp();
  const cookies = which === 'no cookie' ? [undefined] : [(await start()).cookie];
  expect(await flow.finish(callbackUrl, cookies, request)).toEqual({ result: 'unknown' });
  expect(evil.requests('token')).toEqual([]);
});

it('S201: asks the identity provider about no more than thirty invented codes a minute, and uses up no sign-in beyond', async () => {
  const { flow, start, callbackUrl, cookie } = await setUp();
  for (let n = 0; n < 30; n += 1) {
    const { authorizationUrl, cookie: own } = await start();
    const invented = new URL(callbackUrl);
    invented.searchParams.set('state', authorizationUrl.searchParams.get('state') ?? '');
    invented.searchParams.set('code', 'invented');
    expect(await flow.finish(invented, [own], request)).toMatchObject({ result: 'refused' });
  }
  await expect(flow.finish(callbackUrl, [cookie], request)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(evil.requests('token')).toHaveLength(30);
  const elsewhere = { ...request, ip: '192.0.2.2' };
  expect(await flow.finish(callbackUrl, [cookie], elsewhere)).toMatchObject({ result: 'signed_in' });
});

describe('S67: a sign-in that an elicitation requires', () => {
  const provesFor = newElicitationId(shardOf({ issuer: 'https://id.example', subject: 'alice' }), systemEntropy);
  const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;

  /** @param p.took duration of the sign-in, in seconds */
  async function signedIn(p: { took?: number; authTime?: number; maxAge?: number | 'none' }) {
    const { flow, identityProvider, clock } = await setUp();
    const { maxAge = 0, took = 0 } = p;
    // The evil provider has the real clock.
    clock.advance(Date.now() - took * 1000 - clock.now());
    const started = await flow.start({
      identityProvider,
      returnTo: provesFor,
      forceLogin: false,
      provesFor,
      ...(maxAge === 'none' ? {} : { maxAge }),
    });
    expect(started.authorizationUrl.searchParams.get('max_age')).toBe(maxAge === 'none' ? null : String(maxAge));
    const honest = evil.idTokenClaims;
    evil.idTokenClaims = nonce => ({
      ...honest(nonce),
      auth_time: p.authTime,
    });
    clock.advance(took * 1000);
    return flow.finish(await driveAuthorization(started.authorizationUrl, 'alice'), [started.cookie], request);
  }

  it.each([0, 90, LOGIN_TRANSACTION_SECONDS - 1])('counts if it happened after its start, %s s ago', async took => {
    expect(await signedIn({ took, authTime: secondsAgo(took) })).toMatchObject({
      result: 'signed_in',
      browserSession: { provedFor: provesFor },
      maxAge: 0,
    });
  });

  it.each([
    ['before its start', 90, 125],
    ['long before its start', 0, 3600],
  ])('a sign-in that an elicitation requires is refused if it happened %s', async (_, took, ago) => {
    expect(await signedIn({ took, authTime: secondsAgo(ago) })).toMatchObject({
      result: 'refused',
      error: { code: 'invalid_id_token', claim: 'auth_time' },
    });
  });

  it('a sign-in that an elicitation requires is refused if the identity provider does not say when it happened', async () => {
    expect(await signedIn({})).toMatchObject({ result: 'refused', error: { code: 'invalid_id_token' } });
  });

  it.each([300, 'none'] as const)(
    'S211: without max_age=0 (%s), counts only if it happened after its start',
    async maxAge => {
      expect(await signedIn({ maxAge, took: 90, authTime: secondsAgo(60) })).toMatchObject({
        result: 'signed_in',
        browserSession: { provedFor: provesFor, authTime: expect.any(Number) },
      });
      for (const authTime of [secondsAgo(2), undefined]) {
        if (authTime === undefined && maxAge !== 'none') continue;
        const answer = await signedIn({ maxAge, authTime });
        expect(answer).toMatchObject({ result: 'signed_in' });
        expect(answer).toMatchObject({ browserSession: { provedFor: undefined } });
      }
    },
  );

  it('S211: a time in the future is no time of a sign-in, and proves nothing', async () => {
    const answer = await signedIn({ maxAge: 'none', authTime: secondsAgo(-3600) });
    expect(answer).toMatchObject({ result: 'signed_in' });
    expect(answer).toMatchObject({ browserSession: { authTime: undefined } });
    expect(answer).toMatchObject({ browserSession: { provedFor: undefined } });
  });
});
