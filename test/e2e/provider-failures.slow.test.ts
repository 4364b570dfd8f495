import { sharedBrowser } from '@postern/testkit/chromium';
import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askInBrowser, atProvider, connect, newPerson, signIn } from '../support/browser.ts';
import { pageWithFault } from '../support/page-with-fault.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;
// Provider metadata is cached, so each false statement needs its own provider.
let evil: EvilProvider;
let noPkce: EvilProvider;
let plainPkce: EvilProvider;

beforeAll(async () => {
  const start = () => startEvilProvider({ clientId: 'postern-at-evil' });
  [evil, noPkce, plainPkce] = await Promise.all([start(), start(), start()]);
  delete noPkce.metadata['code_challenge_methods_supported'];
  plainPkce.metadata['code_challenge_methods_supported'] = ['plain'];
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({
      mcpServer: { providers: ['forge', 'evil', 'no-pkce', 'plain-pkce'] },
      config: ({ base }) => ({
        providers: [
          ...(base.providers ?? []),
          ...Object.entries({ evil, 'no-pkce': noPkce, 'plain-pkce': plainPkce }).map(([name, { issuer }]) => ({
            name,
            displayName: 'Evil Forge',
            issuer,
            clientId: 'postern-at-evil',
            clientSecret: 'evil-client-secret',
            baseScopes: ['openid'],
            account: { from: 'id_token' as const },
          })),
        ],
      }),
    }),
  ]);
});
afterEach(() => world.provider.clearFaults());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await Promise.all([evil, noPkce, plainPkce].map(provider => provider?.close()));
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const noticeOn = (page: { body: string }) => page.body.includes('<div class="notice">');

describe('a failing provider', () => {
  // This test must be first, because the gateway caches metadata.
  it('metadata 503: the page reports it, nothing is written, and the next attempt works', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const issued = await world.ask(user);
    world.provider.fault({ endpoint: 'metadata', status: 503 });
    await person.page.goto(issued.url);
    await signIn(person.page, user);
    const [answer] = await Promise.all([
      person.page.waitForResponse(response => response.url().endsWith('/accept')),
      person.page.locator('form[action$="/accept"] button').click(),
    ]);
    expect(answer.status()).toBe(502);
    await person.page.locator('.notice').waitFor();
    expect(await statusOf(issued.elicitationId)).toBe('pending');

    world.provider.clearFaults();
    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('a user who refuses at the provider returns to the page with a notice, and a second attempt works', async () => {
    await using person = await askInBrowser(browser, world);
    const { issued } = person;
    await connect(person.page, 'alice', 'deny');
    await person.page.waitForURL(issued.url);
    expect(await person.page.locator('.notice').count()).toBe(1);
    expect(await statusOf(issued.elicitationId)).toBe('pending');

    await person.page.locator('form[action$="/accept"] button').click();
    await atProvider(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('a user who refuses at the provider can then decline', async () => {
    await using person = await askInBrowser(browser, world);
    const { issued } = person;
    await connect(person.page, 'alice', 'deny');
    await person.page.waitForURL(issued.url);
    await person.page.locator('form[action$="/decline"] button').click();
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('declined');
  });

  const tokenFaults = [
    ['500', { status: 500 }],
    ['503', { status: 503 }],
    ['429', { status: 429, headers: { 'retry-after': '1' } }],
    ['a broken connection', { drop: 'before' }],
    ['a lost response', { drop: 'after' }],
    ['an empty answer', { status: 200, body: '' }],
    ['HTML', { status: 200, body: '<h1>welcome</h1>', headers: { 'content-type': 'text/html' } }],
    ['cut JSON', { status: 200, body: '{"access_token":"x"', headers: { 'content-type': 'application/json' } }],
    [
      'no access token',
      { status: 200, body: '{"token_type":"Bearer"}', headers: { 'content-type': 'application/json' } },
    ],
    ['an error', { status: 400, body: '{"error":"invalid_grant"}', headers: { 'content-type': 'application/json' } }],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.example/' } }],
  ] as const;
  it.each(tokenFaults)(
    'token endpoint answers %s: one request, nothing stored, and a retry works',
    async (_, fault) => {
      const user = world.subject();
      const raw = world.raw();
      const { provider } = world;
      const issued = await world.ask(user);
      await raw.signIn(issued.elicitationId, user);
      const callback = await raw.decideAtProvider(await raw.accept(issued.elicitationId), 'alice');
      provider.clearRequests();
      provider.fault({ endpoint: 'token', ...fault });
      expect(await raw.get(callback)).toMatchObject({
        status: 303,
        location: pageWithFault(`/e/${issued.elicitationId}`),
      });
      expect(provider.requests('token')).toHaveLength(1);
      expect(await statusOf(issued.elicitationId)).toBe('pending');
      expect(noticeOn(await raw.get(`/e/${issued.elicitationId}`))).toBe(true);

      provider.clearFaults();
      await raw.get(await raw.decideAtProvider(await raw.accept(issued.elicitationId), 'alice'));
      expect(await statusOf(issued.elicitationId)).toBe('completed');
    },
  );

  it('another account than expected is not stored, and the right one works', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const issued = await world.ask(user, {
      authorization: { provider: 'forge', scopes: ['repo'], expectedAccount: 'alice' },
    });
    await person.page.goto(issued.url);
    await signIn(person.page, user);
    await connect(person.page, 'bob');
    await person.page.waitForURL(issued.url);
    expect(await person.page.locator('.notice').count()).toBe(1);
    expect(await statusOf(issued.elicitationId)).toBe('pending');

    // Signs out at the provider and tries again.
    await person.context.clearCookies({ name: `session-${world.provider.port}` });
    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });
});

describe('a hostile provider', () => {
  const askEvil = async (provider = 'evil') => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { authorization: { provider, scopes: ['repo'] } });
    await raw.signIn(elicitationId, user);
    return { raw, elicitationId };
  };
  async function expectNotSentThere(provider: string, hostile: EvilProvider): Promise<void> {
    const { raw, elicitationId } = await askEvil(provider);
    const form = await raw.acceptForm(elicitationId);
    const answer = await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(answer.status).toBe(502);
    expect(noticeOn(answer)).toBe(true);
    expect(hostile.requests('authorization')).toHaveLength(0);
    expect(await statusOf(elicitationId)).toBe('pending');
  }

  it.each(['no-pkce', 'plain-pkce'] as const)('S14: a provider with %s is refused', name =>
    expectNotSentThere(name, name === 'no-pkce' ? noPkce : plainPkce),
  );

  // Before the gateway caches an honest response of `evil`.
  it.each(['https://honest.example', '//'])(
    'S17: metadata that names %s as or after the issuer is rejected',
    async part => {
      evil.metadataAnswer = () => ({
        body: { ...evil.metadata, issuer: part === '//' ? `${evil.issuer}//` : part },
      });
      await expectNotSentThere('evil', evil);
      evil.metadataAnswer = () => ({ body: evil.metadata });
    },
  );

  const issuerTable: [string, 'code' | 'error', () => string | undefined][] = [
    ['another', 'code', () => 'https://honest.example'],
    ['none although the metadata promised one', 'code', () => undefined],
    ['its own with a trailing slash', 'code', () => `${evil.issuer}/`],
    ['its own in capitals', 'code', () => evil.issuer.toUpperCase()],
    ['an empty one', 'code', () => ''],
    ['another', 'error', () => 'https://honest.example'],
    ['none although the metadata promised one', 'error', () => undefined],
  ];
  it.each(issuerTable)(
    'S15: a callback with %s as issuer and a(n) %s sends no token request and shows nothing of it',
    async (_, kind, iss) => {
      const walk = await askEvil();
      const destination = await walk.raw.accept(walk.elicitationId);
      const state = destination.searchParams.get('state') ?? undefined;
      const before = evil.requests('token').length;
      evil.authorizationResponse = () =>
        kind === 'code'
          ? { code: 'evil-code', state, iss: iss() }
          : { error: 'access_denied', error_description: 'CALL-THIS-NUMBER', state, iss: iss() };
      const back = (await fetch(destination, { redirect: 'manual' })).headers.get('location') ?? '';
      expect(await walk.raw.get(new URL(back))).toMatchObject({ status: 303, location: `/e/${walk.elicitationId}` });
      expect(evil.requests('token')).toHaveLength(before);
      const page = await walk.raw.get(`/e/${walk.elicitationId}`);
      expect(page.body).not.toContain('CALL-THIS-NUMBER');
      expect(await statusOf(walk.elicitationId)).toBe('pending');
    },
  );

  it('a callback with repeated parameters or both a code and an error sends no token request', async () => {
    for (const extra of ['&code=second', '&state=st_x', '&error=access_denied', `&iss=${evil.issuer}`, '&id_token=x']) {
      const walk = await askEvil();
      const destination = await walk.raw.accept(walk.elicitationId);
      const before = evil.requests('token').length;
      const query = new URLSearchParams({
        code: 'evil-code',
        state: destination.searchParams.get('state') ?? '',
        iss: evil.issuer,
      });
      const answer = await walk.raw.get(`/callback/tracker/evil?${query}${extra}`);
      expect([303, 400]).toContain(answer.status);
      expect(evil.requests('token')).toHaveLength(before);
      expect(['pending', 'active']).toContain(await statusOf(walk.elicitationId));
    }
  });
});
