import { describe, expect, it } from 'vitest';
import { driveAuthorization } from './drive-authorization.ts';
import {
  hostileDeviceAnswers,
  hostilePushedAnswers,
  hostileRegistrationAnswers,
  malformedTokenAnswers,
} from './evil-answers.ts';
import { type EvilAnswer, type EvilProvider, honestRefresh, startEvilProvider } from './evil-provider.ts';
import { authorizationParameters, post } from './flow.test-support.ts';
import type { ProviderEndpoint } from './request-log.ts';

const start = () => startEvilProvider({ clientId: 'mcp-client' });

const tokenUrl = (evil: EvilProvider) => `${evil.issuer}/token`;

const ask = async (evil: EvilProvider, path: string, body: string | URLSearchParams = '') => {
  const response = await fetch(evil.issuer + path, { method: 'POST', body, redirect: 'manual' });
  return { status: response.status, text: await response.text() };
};

describe('evil provider', () => {
  it('gives valid token responses, except to the next requests that a test overrides', async () => {
    await using evil = await start();
    const refresh = { grant_type: 'refresh_token', refresh_token: 'r' };
    expect((await post(tokenUrl(evil), refresh)).body).toEqual(honestRefresh());
    expect((await post(tokenUrl(evil), { grant_type: 'authorization_code' })).body['access_token']).toBe(
      'evil-access-token',
    );
    evil.answerNext('token', { status: 503, body: {} });
    evil.answerNext('token', { body: { error: 'invalid_grant' } });
    expect((await post(tokenUrl(evil), refresh)).status).toBe(503);
    expect((await post(tokenUrl(evil), refresh)).body).toEqual({ error: 'invalid_grant' });
    expect((await post(tokenUrl(evil), refresh)).body).toEqual(honestRefresh());
  });

  it('offers optional endpoints only if the test enables them', async () => {
    await using evil = await start();
    expect(evil.metadata).not.toHaveProperty('pushed_authorization_request_endpoint');
    evil.offer('pushed_authorization_request_endpoint', 'revocation_endpoint');
    expect(evil.metadata).toMatchObject({
      pushed_authorization_request_endpoint: `${evil.issuer}/request`,
      revocation_endpoint: `${evil.issuer}/token/revocation`,
    });
    expect(await ask(evil, '/token/revocation', 'token=t')).toEqual({ status: 200, text: '' });
    expect(evil.requests('revocation')[0]?.form).toEqual({ token: 't' });
  });

  it('redeems the request_uri of a pushed authorization request', async () => {
    await using evil = await start();
    const pushed = await post(`${evil.issuer}/request`, authorizationParameters);
    expect(pushed.status).toBe(201);
    const query = new URLSearchParams({ client_id: 'mcp-client', request_uri: String(pushed.body['request_uri']) });
    const callback = await driveAuthorization(`${evil.issuer}/auth?${query}`, 'alice');
    expect(callback.href).toContain(authorizationParameters.redirect_uri);
    expect(callback.searchParams.get('state')).toBe('state');
    expect(evil.lastAuthorization.get('code_challenge')).toBe(authorizationParameters.code_challenge);
  });

  it('registers the requested client, and logs the request', async () => {
    await using evil = await start();
    const { status, text } = await ask(evil, '/reg', JSON.stringify({ client_name: 'Postern' }));
    expect([status, JSON.parse(text)]).toEqual([201, { client_name: 'Postern', client_id: 'mcp-client' }]);
    expect(evil.requests('registration')[0]?.body).toBe('{"client_name":"Postern"}');
  });

  it('starts device flows', async () => {
    await using evil = await start();
    const { body } = await post(`${evil.issuer}/device/auth`, { client_id: 'mcp-client' });
    expect(body).toMatchObject({ user_code: 'WDJB-MJHT', verification_uri: `${evil.issuer}/device` });
  });
});

describe('catalogues of answers', () => {
  const honest = honestRefresh();

  it('the catalogues contain the responses that their names promise at the token endpoint', async () => {
    await using evil = await start();
    const catalogue = malformedTokenAnswers(honest);
    const texts = new Map<string, string>();
    for (const [name, answer] of Object.entries(catalogue)) {
      evil.answerNext('token', answer);
      const { text } = await ask(evil, '/token', new URLSearchParams({ grant_type: 'refresh_token' }));
      if (name !== 'success with 500') expect(text).not.toBe(JSON.stringify(honest));
      texts.set(name, text);
    }
    expect(texts.get('20 MiB of JSON')?.length).toBeGreaterThan(20 * 1024 * 1024);
    expect(JSON.parse(texts.get('20 MiB of JSON') ?? '')).toMatchObject(honest);
    expect(() => JSON.parse(texts.get('truncated JSON') ?? '')).toThrow(SyntaxError);
    expect(texts.get('duplicate keys')?.match(/"access_token"/g)).toHaveLength(2);
    expect(JSON.parse(texts.get('duplicate keys') ?? '')).toMatchObject({ token_type: 'Bearer' });
    expect(JSON.parse(texts.get('missing access_token') ?? '')).not.toHaveProperty('access_token');
  });

  it.each<[ProviderEndpoint, string, Readonly<Record<string, EvilAnswer>>]>([
    ['pushed_authorization_request', '/request', hostilePushedAnswers],
    ['device_authorization', '/device/auth', hostileDeviceAnswers('http://localhost/device')],
    ['registration', '/reg', hostileRegistrationAnswers({ client_id: 'a' })],
  ])('are sent as written: %s', async (endpoint, path, catalogue) => {
    await using evil = await start();
    for (const answer of Object.values(catalogue)) {
      const { status = 200, body } = answer;
      evil.answerNext(endpoint, answer);
      const sent = await ask(evil, path, '{}');
      expect(sent.status).toBe(status);
      if (typeof body === 'string') expect(sent.text).toBe(body);
      else if (!(Symbol.iterator in body) || Array.isArray(body)) expect(sent.text).toBe(JSON.stringify(body));
    }
  });
});
