import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, signIn } from '../support/browser.ts';
import {
  connected,
  connectionEntriesIn,
  disconnectPathOf,
  disconnectPathsIn,
  signInForMe,
  textOf,
} from '../support/connections.ts';
import { type ExternalApplication, startExternalApplication } from '../support/external-application.ts';
import { csrfTokenIn, ownLinksIn, type RawBrowser } from '../support/raw-browser.ts';
import { watchWrites } from '../support/redis-writes.ts';
import { dumpStore } from '../support/store-dump.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let browser: Browser;
let application: ExternalApplication;
let world: World;

beforeAll(async () => {
  application = await startExternalApplication();
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({
      otherMcpServers: [
        { id: 'wiki', name: 'Team Wiki', url: 'http://localhost:7002/mcp' },
        { id: 'desk', name: 'Help Desk', url: 'http://localhost:7003/mcp', group: 'support' },
        { id: 'phone', name: 'Phone Log', url: 'http://localhost:7004/mcp', group: 'support' },
        {
          id: 'embedded',
          name: 'Embedded App',
          url: 'http://localhost:7005/mcp',
          identity: { mode: 'external', verifyUrl: application.verifyUrl },
        },
      ],
    }),
  ]);
  application.connect(world, 'embedded');
});
afterEach(() => {
  world.clock.backToNow();
  Object.assign(world.provider.switches, { refreshTokens: 'rotate-strict', accessTokenTtlSeconds: 3600 });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await application?.[Symbol.asyncDispose]();
});

const apiOf = (mcpServerId: string) => world.apiOf({ apiKey: keyOf(mcpServerId) });

describe('/me without a session', () => {
  it('is where the bare address of the site leads', async () => {
    const root = await world.raw().get('/');
    expect([root.status, root.headers.location]).toEqual([303, '/me']);
  });

  it('redirects to sign-in and back', async () => {
    const user = world.subject();
    const raw = world.raw();
    const page = await raw.get('/me');
    expect(page.status).toBe(200);
    expect(ownLinksIn(page)).toContain('/login?to=me');
    expect(await signInForMe(raw, user)).toMatchObject({ status: 303, location: '/me' });
    const mine = await raw.get('/me');
    expect(mine.status).toBe(200);
    expect(textOf(mine)).toContain(`${user} Example`);
    expect(connectionEntriesIn(mine)).toEqual([]);
  });

  it('shows an error with a link back to /me while the identity provider is down', async () => {
    const raw = world.raw();
    const { identityProvider } = world;
    const { location } = await raw.get('/login?to=me');
    const state = new URL(location ?? '').searchParams.get('state') ?? '';
    const refused = await raw.get(
      `/login/callback/example-id?${new URLSearchParams({ error: 'access_denied', state, iss: identityProvider.issuer })}`,
    );
    expect(refused.status).toBe(400);
    expect(ownLinksIn(refused)).toContain('/me');
  });

  it('the disconnect page answers alike for real and random connection ids', async () => {
    const { connectionId } = await connected(world, { user: world.subject() });
    const invented = `cn_00${'A'.repeat(43)}`;
    const pages = await Promise.all(
      [connectionId, invented, 'nonsense'].map(id => world.raw().get(disconnectPathOf(id))),
    );
    // The language switcher leads back to the address that the browser itself sent.
    const [first, ...others] = pages.map(({ status, body }) => [status, body.replace(/name="back" value="[^"]+"/, '')]);
    expect(first?.[0]).toBe(200);
    for (const other of others) expect(other).toEqual(first);
  });
});

describe('/me for a signed-in user', () => {
  it('shows the connections of all MCP servers with account and plain-language scopes', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user });
    await connected(world, { user, raw, api: apiOf('wiki'), scopes: ['repo', 'issues'] });
    // Two MCP servers of one group share one connection.
    await connected(world, { user, raw, api: apiOf('desk'), scopes: ['issues'] });

    const entries = connectionEntriesIn(await raw.get('/me'));
    expect(entries).toHaveLength(3);
    for (const entry of entries) {
      expect(entry).toContain('Code Forge');
      expect(entry).toContain('Alice');
      expect(entry).not.toMatch(/\boffline_access\b|\bopenid\b/);
    }
    const of = (name: string) => entries.find(entry => entry.includes(name)) ?? '';
    expect(of('Issue Tracker')).toContain('read the list of your repositories');
    expect(of('Issue Tracker')).not.toContain('create issues in your name');
    expect(of('Team Wiki')).toContain('read the list of your repositories');
    expect(of('Team Wiki')).toContain('create issues in your name');
    expect(of('Help Desk')).toContain('Phone Log');
    expect(of('Help Desk')).toBe(of('Phone Log'));
    expect(of('Help Desk')).toContain('localhost:7003');
  });

  it('shows when a connection was last used, by which MCP server, and the tool name it reported', async () => {
    const user = world.subject();
    const { raw, connectionId } = await connected(world, { user });
    expect(textOf(await raw.get('/me'))).toContain('Last used Not yet');
    await world.api.accessToken(connectionId);
    expect(textOf(await raw.get('/me'))).toContain('by Issue Tracker');
    await world.api.accessToken(connectionId, { tool: 'create_issue' });
    expect(textOf(await raw.get('/me'))).toContain('for create_issue, as Issue Tracker says');
    const chinese = await raw.get('/me', { headers: { 'accept-language': 'zh-CN' } });
    expect(chinese.body).toContain('读取你的代码库列表');
  });

  it.each(['refused', 'rejected', 'expired'] as const)('explains why a connection is unusable: %s', async reason => {
    const user = world.subject();
    const { provider } = world;
    if (reason !== 'refused') provider.switches.refreshTokens = 'no-refresh';
    if (reason !== 'rejected') provider.switches.accessTokenTtlSeconds = 120;
    const { connectionId } = await connected(world, { user });
    const { accessToken, generation } = (await world.api.accessToken(connectionId)).body;
    const grantId = provider.tokens.grantOf(accessToken)?.grantId ?? '';
    world.clock.ahead = 3 * 60_000;
    if (reason === 'refused') await provider.endGrant(grantId);
    const answer = await world.api.accessToken(
      connectionId,
      reason === 'rejected' ? { rejectedGeneration: generation } : {},
    );
    expect(answer.body.code).toBe('reauthorization_required');

    const raw = world.raw();
    await signInForMe(raw, user);
    const [entry = ''] = connectionEntriesIn(await raw.get('/me'));
    expect(entry).toContain('Needs to be connected again');
    expect(entry).not.toContain('Works');
    const words = {
      refused: 'no longer accepts this connection',
      rejected: 'rejected this connection',
      expired: 'for a limited time',
    };
    for (const [name, text] of Object.entries(words)) expect(entry.includes(text)).toBe(name === reason);
  });

  it('lists an elicitation until it is answered, cancelled or expired', async () => {
    const user = world.subject();
    const raw = world.raw();
    await signInForMe(raw, user);
    const waiting = await world.ask(user);
    const withdrawn = (await apiOf('wiki').issue(askFor(world, user))).body;
    const linksOf = async () => ownLinksIn(await raw.get('/me')).filter(href => href.startsWith('/e/'));
    expect((await linksOf()).sort()).toEqual(
      [waiting, withdrawn].map(({ elicitationId }) => `/e/${elicitationId}`).sort(),
    );

    await apiOf('wiki').cancel(withdrawn.elicitationId);
    expect(await linksOf()).toEqual([`/e/${waiting.elicitationId}`]);
    await raw.post(`/e/${waiting.elicitationId}/decline`, {
      form: { csrf_token: await raw.csrfToken(waiting.elicitationId) },
    });
    expect(await linksOf()).toEqual([]);

    const brief = await world.ask(user, { ttlSeconds: 60 });
    expect(await linksOf()).toEqual([`/e/${brief.elicitationId}`]);
    world.clock.ahead = 61_000;
    expect(await linksOf()).toEqual([]);
  });

  it('another user neither sees the connection nor can disconnect it', async () => {
    const [user, other] = [world.subject(), world.subject()];
    const { connectionId } = await connected(world, { user });
    const waiting = await apiOf('wiki').issue(askFor(world, user));
    const raw = world.raw();
    await signInForMe(raw, other);
    const page = await raw.get('/me');
    expect(connectionEntriesIn(page)).toEqual([]);
    expect(page.body).not.toContain(connectionId);
    expect(page.body).not.toContain(waiting.body.elicitationId);
    expect((await raw.get(disconnectPathOf(connectionId))).status).toBe(404);
    const form = { csrf_token: csrfTokenIn(page) };
    const invented = `cn_00${'A'.repeat(43)}`;
    for (const id of [connectionId, invented, 'nonsense'])
      expect(await raw.post(disconnectPathOf(id), { form })).toMatchObject({ status: 303, location: '/me' });
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
  });

  it('a browser verified by an application sees and disconnects only that application’s connections', async () => {
    const user = world.subject();
    const { connectionId: foreign } = await connected(world, { user });
    const wiki = (await apiOf('wiki').issue(askFor(world, user))).body;

    const raw = world.raw();
    const embedded = apiOf('embedded');
    const { elicitationId } = (await embedded.issue(askFor(world, user))).body;
    const questionIn = (location = '') => {
      const query = new URL(location).searchParams;
      return { elicitationId, verificationId: query.get('verificationId') ?? '', subject: user };
    };
    const opened = await application.verify(questionIn((await raw.get(`/login?e=${elicitationId}`)).location));
    await raw.get(new URL(opened.body.continueUrl ?? ''));
    const open = ownLinksIn(await raw.get('/me')).filter(href => href.startsWith('/e/'));
    expect(open).toEqual([`/e/${elicitationId}`]);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    await application.verify(questionIn((await raw.get(callback)).location));
    const own = (await embedded.read(elicitationId)).body.outcome?.connectionId ?? '';

    const page = await raw.get('/me');
    expect(disconnectPathsIn(page)).toEqual([disconnectPathOf(own)]);
    expect(page.body).not.toContain(wiki.elicitationId);
    expect(page.body).not.toContain('Team Wiki');
    expect((await raw.get(disconnectPathOf(foreign))).status).toBe(404);
    const form = { csrf_token: csrfTokenIn(page) };
    expect((await raw.post(disconnectPathOf(foreign), { form })).location).toBe('/me');
    expect((await world.api.accessToken(foreign)).status).toBe(200);
    expect((await raw.post(disconnectPathOf(own), { form })).status).toBe(200);
    expect((await embedded.accessToken(own)).status).toBe(404);

    // A user who signs in at the gateway sees both.
    const everything = world.raw();
    await signInForMe(everything, user);
    expect(disconnectPathsIn(await everything.get('/me'))).toEqual([disconnectPathOf(foreign)]);
  });
});

describe('/me and its forms', () => {
  let raw: RawBrowser;
  let connectionId: string;
  let user: string;

  beforeAll(async () => {
    user = world.subject();
    ({ raw, connectionId } = await connected(world, { user }));
    await world.ask(user, { authorization: { provider: 'forge', scopes: ['issues'] } });
  });

  inFull.it('S25: a hundred GETs change nothing', async () => {
    const before = await dumpStore(world);
    using writes = await watchWrites(world.redis.url);
    const invented = `cn_00${'A'.repeat(43)}`;
    const paths = ['/me', ...[connectionId, invented, 'x'].map(disconnectPathOf), '/login?to=me'];
    const visitors = [raw, world.raw()];
    for (let round = 0; round < 50; round += 1)
      await Promise.all(
        visitors.flatMap(visitor =>
          paths.flatMap(path => ['GET', 'HEAD'].map(method => visitor.request(method, path))),
        ),
      );
    // Keys may expire meanwhile, but none is new or changed.
    expect(before).toMatchObject(await dumpStore(world));
    expect((await writes.take()).filter(({ name }) => name !== 'zremrangebyscore')).toEqual([]);
  });

  it('S26: a form is accepted only from our own page, with the CSRF token of this browser', async () => {
    const path = disconnectPathOf(connectionId);
    const csrf_token = csrfTokenIn(await raw.get(path));
    const form = { csrf_token };
    const stranger = world.raw();
    await signInForMe(stranger, world.subject());
    const theirs = csrfTokenIn(await stranger.get('/me'));
    const refused: [number, Parameters<RawBrowser['post']>[1]][] = [
      [403, { form, headers: { 'sec-fetch-site': 'cross-site' } }],
      [403, { form, headers: { 'sec-fetch-site': 'same-site' } }],
      [403, { form, headers: { 'sec-fetch-site': undefined, origin: 'https://evil.example' } }],
      [403, { form, headers: { 'sec-fetch-site': undefined, origin: 'null' } }],
      [403, { form, headers: { 'sec-fetch-site': undefined, origin: undefined } }],
      [403, { form: { csrf_token: theirs } }],
      [403, { form: { csrf_token: `${csrf_token.slice(0, -1)}${csrf_token.endsWith('A') ? 'B' : 'A'}` } }],
      [403, { form: { csrf_token: '' } }],
      [400, { form: {} }],
      [400, { form: { ...form, more: 'x' } }],
      [400, { form: `csrf_token=${csrf_token}&csrf_token=${csrf_token}` }],
      [415, { form: JSON.stringify(form), headers: { 'content-type': 'application/json' } }],
    ];
    for (const [status, request] of refused)
      expect([request, (await raw.post(path, request)).status]).toEqual([request, status]);
    expect((await world.raw().post(path, { form })).status).toBe(401);
    expect((await raw.request('DELETE', path)).status).toBe(404);
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
  });

  it('S29: every page carries the security headers', async () => {
    const { connectionId: ended } = await connected(world, { user, raw, api: apiOf('wiki') });
    const form = { csrf_token: csrfTokenIn(await raw.get('/me')) };
    for (const page of [
      await raw.get('/me'),
      await world.raw().get('/me'),
      await raw.get(disconnectPathOf(connectionId)),
      await raw.get(disconnectPathOf('x')),
      await raw.post(disconnectPathOf(ended), { form }),
      await raw.post(disconnectPathOf(ended), { form }),
      await raw.post(disconnectPathOf(ended), { form: {} }),
    ])
      expect(page.headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
  });

  inFull.it('S26: works without JavaScript from sign-in to disconnecting', async () => {
    const someone = world.subject();
    const { connectionId: theirs } = await connected(world, { user: someone });
    await using person = await newPerson(browser, someone, { javaScriptEnabled: false });
    const { page } = person;
    await page.goto(`${world.publicUrl}/me`);
    await signIn(page, someone);
    await page.waitForURL(/\/me$/);
    await page.locator('.row > summary').click();
    await page.locator('a[href$="/disconnect"]').click();
    // The safe button comes first.
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Keep it connected' }).click();
    await page.waitForURL(/\/me$/);
    await page.locator('.row > summary').click();
    await page.locator('a[href$="/disconnect"]').click();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    expect(await page.locator('h1').textContent()).toContain('disconnected');
    await page.getByRole('link', { name: 'Back to your connections' }).click();
    expect(await page.locator('a[href$="/disconnect"]').count()).toBe(0);
    expect((await world.api.accessToken(theirs)).status).toBe(404);
  });
});
