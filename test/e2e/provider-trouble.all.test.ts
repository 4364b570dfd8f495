import { sharedBrowser } from '@postern/testkit/chromium';
import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askInBrowser, atProvider, connect, newPerson, signIn } from '../support/browser.ts';
import { pageWithFault } from '../support/page-with-fault.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;
// What a provider says of itself is kept for a while, so each lie has a provider of its own.
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

describe('when the provider makes trouble', () => {
  // First of all: metadata that was read once is kept.
  it('metadata 503: says so on the page, writes nothing, and the next try works', async () => {
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
    expect(await person.page.locator('.notice').count()).toBe(1);
    expect(await statusOf(issued.elicitationId)).toBe('pending');

    world.provider.clearFaults();
    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('the person says no there: back to the question with a notice; a second try works', async () => {
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

  it('the person says no there and then declines here', async () => {
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
    ['an answer lost on the way', { drop: 'after' }],
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
    'token endpoint answers %s: one request, nothing stored, and trying again works',
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
        ...{ status: 303, location: pageWithFault(`/e/${issued.elicitationId}`) },
      });
      expect(provider.requests('token')).toHaveLength(1);
      expect(await statusOf(issued.elicitationId)).toBe('pending');
      expect(noticeOn(await raw.get(`/e/${issued.elicitationId}`))).toBe(true);

      provider.clearFaults();
      await raw.get(await raw.decideAtProvider(await raw.accept(issued.elicitationId), 'alice'));
      expect(await statusOf(issued.elicitationId)).toBe('completed');
    },
  );

  it('another account than the expected one: nothing is stored; the right one works', async () => {
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

describe('when the provider is hostile', () => {
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

  it.each(['no-pkce', 'plain-pkce'] as const)('S14: a provider with %s is not used', name =>
    expectNotSentThere(name, name === 'no-pkce' ? noPkce : plainPkce),
  );

  // Before any honest answer of `evil` has been kept.
  it.each(['https://honest.example', '/'])(
    'S17: metadata that names %s as or after the issuer is not used',
    async part => {
      evil.metadataAnswer = () => ({
        body: { ...evil.metadata, issuer: part === '/' ? `${evil.issuer}/` : part },
      });
      await expectNotSentThere('evil', evil);
      evil.metadataAnswer = () => ({ body: evil.metadata });
    },
  );

  const issuerTable: [string, 'code' | 'error', () => string | undefined][] = [
    ['another', 'code', () => 'https://honest.example'],
    ['none though it promised one', 'code', () => undefined],
    ['its own with a slash more', 'code', () => `${evil.issuer}/`],
    ['its own in capitals', 'code', () => evil.issuer.toUpperCase()],
    ['an empty one', 'code', () => ''],
    ['another', 'error', () => 'https://honest.example'],
    ['none though it promised one', 'error', () => undefined],
  ];
  it.each(issuerTable)(
    'S15: names %s as issuer beside a(n) %s: no token request, nothing of it shown',
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

  it('repeats parameters or sends both a code and an error: no token request', async () => {
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
