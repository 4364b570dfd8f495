import { createHash, randomBytes } from 'node:crypto';
import { freePort } from '@postern/testkit/processes';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ExampleProvider, startExampleProvider } from './example-provider.ts';
import { createOperatorSignIn, operatorSignIn } from './operator-sign-in.ts';

const redirectUri = 'http://127.0.0.1:4480/callback/dev/example';
const vaultKey = randomBytes(32).toString('base64');
const verifier = 'v'.repeat(64);
const request = {
  response_type: 'code',
  client_id: 'postern',
  redirect_uri: redirectUri,
  state: 'state-1',
  scope: 'notes',
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
};

const issuerAt = (at: number) => `http://127.0.0.1:${at}${operatorSignIn.path}`;
const consoleCallback = 'http://localhost:4482/login/callback/console';
const start = async (at: number) =>
  startExampleProvider({
    port: at,
    vaultKey,
    redirectUri,
    operators: await createOperatorSignIn({ issuer: issuerAt(at), redirectUri: consoleCallback }),
  });

let port = 0;
let provider: ExampleProvider;
beforeAll(async () => {
  port = await freePort();
  provider = await start(port);
});
afterAll(() => provider?.[Symbol.asyncDispose]());

const show = (overrides: object = {}) =>
  fetch(`${provider.url}/authorize?${new URLSearchParams({ ...request, ...overrides })}`);
const post = (path: string, body: Record<string, string>) =>
  fetch(`${provider.url}${path}`, { method: 'POST', body: new URLSearchParams(body), redirect: 'manual' });

async function decide(decision: string): Promise<URL> {
  const page = await (await show()).text();
  const sealed = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const answer = await post('/authorize', { request: sealed, decision });
  expect(answer.status).toBe(303);
  return new URL(answer.headers.get('location') ?? '');
}
const newCode = async () => (await decide('allow')).searchParams.get('code') ?? '';
const redeem = (code: string, overrides: Record<string, string> = {}) =>
  post('/token', {
    grant_type: 'authorization_code',
    client_id: 'postern',
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
    ...overrides,
  });
const tokensSchema = z.object({ access_token: z.string(), refresh_token: z.string(), scope: z.literal('notes') });
const newTokens = async () => tokensSchema.parse(await (await redeem(await newCode())).json());
const readNotes = (token: string) => fetch(`${provider.url}/notes`, { headers: { authorization: `Bearer ${token}` } });

describe('the example provider', () => {
  test('gives tokens for a code, and notes for a token, also after a restart', async () => {
    const { access_token, refresh_token } = await newTokens();
    expect((await readNotes(access_token)).status).toBe(200);
    await using restarted = await start(await freePort());
    const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'postern', refresh_token });
    const answer = await fetch(`${restarted.url}/token`, { method: 'POST', body });
    const renewed = tokensSchema.parse(await answer.json());
    expect(z.array(z.string()).parse(await (await readNotes(renewed.access_token)).json())).toHaveLength(3);
  });

  test('returns access_denied and the state after a refusal', async () => {
    const location = await decide('refuse');
    expect(Object.fromEntries(location.searchParams)).toEqual({ state: 'state-1', error: 'access_denied' });
  });

  test.each([
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:4480/callback/dev/other' }],
    ['another client', { client_id: 'other' }],
    ['no PKCE', { code_challenge: '' }],
    ['the plain PKCE method', { code_challenge_method: 'plain' }],
  ])('refuses a request with %s, without a redirect', async (_, overrides) => {
    expect((await show(overrides)).status).toBe(400);
  });

  test('redeems a code once, and only with its verifier and redirect URI', async () => {
    const code = await newCode();
    expect((await redeem(code, { redirect_uri: 'http://127.0.0.1:1/' })).status).toBe(400);
    expect((await redeem(code)).status).toBe(200);
    expect((await redeem(code)).status).toBe(400);
    expect((await redeem(await newCode(), { code_verifier: 'w'.repeat(64) })).status).toBe(400);
  });

  test('takes no token for another one', async () => {
    const { access_token, refresh_token } = await newTokens();
    const code = await newCode();
    for (const token of [refresh_token, code, `${access_token}x`, ''])
      expect((await readNotes(token)).status).toBe(401);
    const exchanged = await post('/token', {
      grant_type: 'refresh_token',
      client_id: 'postern',
      refresh_token: access_token,
    });
    expect(exchanged.status).toBe(400);
    expect((await redeem(access_token)).status).toBe(400);
  });

  test('refuses a decision without the page of a request', async () => {
    expect((await post('/authorize', { request: await newCode(), decision: 'allow' })).status).toBe(400);
  });

  test('refuses another host name and a large body', async () => {
    expect((await fetch(`http://localhost:${port}/authorize`)).status).toBe(421);
    expect((await post('/token', { padding: 'x'.repeat(20_000) })).status).toBe(400);
  });
});

describe('the sign-in of the operator', () => {
  const signInRequest = {
    response_type: 'code',
    client_id: operatorSignIn.clientId,
    redirect_uri: consoleCallback,
    scope: 'openid',
    state: '"><b>',
    nonce: 'nonce-1',
    code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  };
  const signIn = (overrides: Record<string, string> = {}) =>
    post(`${operatorSignIn.path}/authorize`, { ...signInRequest, ...overrides });
  const newSignInCode = async () =>
    new URL((await signIn()).headers.get('location') ?? '').searchParams.get('code') ?? '';
  const exchange = (code: string, overrides: Record<string, string> = {}) =>
    post(`${operatorSignIn.path}/token`, {
      grant_type: 'authorization_code',
      client_id: operatorSignIn.clientId,
      redirect_uri: consoleCallback,
      code,
      code_verifier: verifier,
      ...overrides,
    });

  test('signs the ID token for the console, with the nonce of the request', async () => {
    const { id_token } = z.object({ id_token: z.string() }).parse(await (await exchange(await newSignInCode())).json());
    const keys = createRemoteJWKSet(new URL(`${issuerAt(port)}/jwks`));
    const { payload } = await jwtVerify(id_token, keys, {
      issuer: issuerAt(port),
      audience: operatorSignIn.clientId,
    });
    expect(payload).toMatchObject({ sub: operatorSignIn.subject, groups: [operatorSignIn.subject], nonce: 'nonce-1' });
  });

  test('escapes the request on its page', async () => {
    const page = await fetch(`${issuerAt(port)}/authorize?${new URLSearchParams(signInRequest)}`);
    expect(await page.text()).not.toContain('"><b>');
  });

  test.each([
    ['another redirect URI', { redirect_uri: 'http://localhost:4482/login/callback/other' }],
    ['another client', { client_id: 'postern' }],
    ['no PKCE', { code_challenge: '' }],
    ['no nonce', { nonce: '' }],
  ])('refuses a request with %s, without a redirect', async (_, overrides) => {
    expect((await signIn(overrides)).status).toBe(400);
  });

  test('exchanges a code once, and only with its verifier', async () => {
    expect((await exchange(await newSignInCode(), { code_verifier: 'w'.repeat(64) })).status).toBe(400);
    const code = await newSignInCode();
    expect((await exchange(code)).status).toBe(200);
    expect((await exchange(code)).status).toBe(400);
  });
});
