import { createOutboundFetch, createSignIn, identityProviderConfigSchema } from '@postern/authorization';
import { driveAuthorization, type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createSignInFlow } from './sign-in-flow.ts';

// The identity provider accepts a code twice, so only the gateway prevents a second sign-in with the same answer.

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

let evil: EvilProvider;
beforeEach(async () => {
  evil = await startEvilProvider({ clientId: 'postern' });
});
afterEach(() => evil.close());

/** A browser has come back from the identity provider with an answer. */
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
  const flow = createSignInFlow({ ...stage, identityProviders: [identityProvider] });
  const elsewhere = createSignInFlow({
    ...stage,
    config: { ...stage.config, publicUrl: 'https://other.example' },
    identityProviders: [identityProvider],
  });
  const start = () => flow.start({ identityProvider, returnTo: 'me', again: false });
  const { authorizationUrl, cookie } = await start();
  const callbackUrl = await driveAuthorization(authorizationUrl, 'alice');
  return { ...stage, flow, elsewhere, callbackUrl, cookie, start };
}

it('S08: a replayed answer signs nobody in, although the browser kept the cookie and the code is accepted again', async () => {
  const { flow, callbackUrl, cookie } = await setUp();
  expect(await flow.finish(callbackUrl, [cookie])).toMatchObject({ result: 'signed_in', returnTo: 'me' });
  expect(await flow.finish(callbackUrl, [cookie])).toEqual({ result: 'unknown' });
  expect(evil.requests('token')).toHaveLength(1);
});

it('S08: of ten simultaneous answers with the same state one signs in', async () => {
  const { flow, callbackUrl, cookie } = await setUp();
  const results = await Promise.all(Array.from({ length: 10 }, () => flow.finish(callbackUrl, [cookie])));
  expect(results.filter(({ result }) => result === 'signed_in')).toHaveLength(1);
  expect(evil.requests('token')).toHaveLength(1);
});

it('S65: a response at the redirect URI of another identity provider is never exchanged and uses the transaction up', async () => {
  const { flow, callbackUrl, cookie } = await setUp();
  const elsewhere = new URL(callbackUrl);
  elsewhere.pathname = '/login/callback/other-id';
  expect(await flow.finish(elsewhere, [cookie])).toMatchObject({
    result: 'refused',
    error: { code: 'issuer_mismatch' },
    returnTo: 'me',
  });
  expect(await flow.finish(callbackUrl, [cookie])).toEqual({ result: 'unknown' });
  expect(evil.requests('token')).toEqual([]);
});

it('S50: a transaction of another deployment with the same vault key signs nobody in', async () => {
  const { flow, callbackUrl, cookie, elsewhere } = await setUp();
  expect(await elsewhere.finish(callbackUrl, [cookie])).toEqual({ result: 'unknown' });
  expect(await flow.finish(callbackUrl, [cookie])).toMatchObject({ result: 'signed_in' });
});

it.each(['no cookie', 'the cookie of another sign-in'])('S08: an answer with %s signs nobody in', async which => {
  const { flow, callbackUrl, start } = await setUp();
  const cookies = which === 'no cookie' ? [undefined] : [(await start()).cookie];
  expect(await flow.finish(callbackUrl, cookies)).toEqual({ result: 'unknown' });
  expect(evil.requests('token')).toEqual([]);
});
