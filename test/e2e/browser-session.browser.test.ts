import { sharedBrowser } from '@postern/testkit/chromium';
import { startOpenIdProvider, type TestProvider } from '@postern/testkit/providers';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, signIn } from '../support/browser.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { startWorld, type World, worldUsers } from '../support/world.ts';

const HOUR = 3_600_000;
let browser: Browser;
let world: World;
let otherIssuer: TestProvider;

beforeAll(async () => {
  browser = await sharedBrowser();
  // Its users have the same names as the other issuer's users.
  otherIssuer = await startOpenIdProvider({
    name: 'Other ID',
    users: worldUsers,
    consent: 'skip',
    clients: [{ clientId: 'postern', clientSecret: 'other-secret', redirectUris: [] }],
  });
  world = await startWorld({
    config: ({ base }) => ({
      identityProviders: [
        ...(base.identityProviders ?? []),
        { name: 'other-id', issuer: otherIssuer.issuer, clientId: 'postern', clientSecret: 'other-secret' },
      ],
      mcpServers: base.mcpServers.map(mcpServer => ({
        ...mcpServer,
        issuers: [...(mcpServer.issuers ?? []), otherIssuer.issuer],
      })),
    }),
  });
});
afterEach(() => {
  world.clock.backToNow();
  world.provider.clearRequests();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await otherIssuer?.close();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const sessionIn = (raw: RawBrowser) => [...raw.cookies].find(([name]) => name.endsWith('postern_session'))?.[1];

/** Alice with an elicitation, and Bob, who is signed in and has another one. */
async function aliceAndBob() {
  const [aliceName, bobName] = [world.subject(), world.subject()];
  const [forAlice, forBob] = [await world.ask(aliceName, { message: 'for-alice-only' }), await world.ask(bobName)];
  const [alice, bob] = [world.raw(), world.raw()];
  await alice.signIn(forAlice.elicitationId, aliceName);
  await bob.signIn(forBob.elicitationId, bobName);
  return { aliceName, bobName, alice, bob, forAlice, forBob, id: forAlice.elicitationId };
}

describe('the browser session', () => {
  it('S02: without a session, every request gets the same response for a real and a random id', async () => {
    const issued = await world.ask(world.subject(), { message: 'for-alice-only' });
    const random = `el_${issued.elicitationId.slice(3, 5)}${'A'.repeat(43)}`;
    const normal = (text: string, id: string) => text.replaceAll(id, 'ID').replace(/rq_[A-Za-z0-9_-]+/g, 'RQ');
    const bodies = async (id: string) => {
      const raw = world.raw();
      const answers = [
        await raw.get(`/e/${id}`),
        await raw.get(`/e/${id}?switch=1`),
        await raw.get(`/e/${id}/leaving`),
        await raw.post(`/e/${id}/accept`, { form: { csrf_token: 'x' } }),
        await raw.post(`/e/${id}/decline`, { form: { csrf_token: 'x' } }),
        await raw.post(`/e/${id}/accept`, { headers: { 'sec-fetch-site': 'cross-site' } }),
        await raw.request('HEAD', `/e/${id}`),
      ];
      return answers.map(({ status, body, setCookies }) => [status, normal(body, id), setCookies.length]);
    };
    const real = await bodies(issued.elicitationId);
    expect(real).toEqual(await bodies(random));
    expect(JSON.stringify(real)).not.toContain('for-alice-only');
  });

  it('S05: the same name and e-mail at another issuer is another person', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user, { subject: { issuer: otherIssuer.issuer, subject: user } });
    const bait = await world.ask(user);
    const raw = world.raw();
    // Signed in as the namesake at the first issuer.
    await raw.signIn(bait.elicitationId, user);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(403);
    expect((await raw.post(`/e/${elicitationId}/accept`, { form: { csrf_token: csrfTokenIn(page) } })).status).toBe(
      403,
    );
    expect(await statusOf(elicitationId)).toBe('pending');
    // Its sign-in goes to its own issuer.
    const start = await world.raw().get(`/login?e=${elicitationId}`);
    expect(new URL(start.location ?? '').origin).toBe(otherIssuer.issuer);
  });

  it('S06: every sign-in creates a new session id, ends the previous session and ignores a planted id', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const first = sessionIn(raw) ?? '';
    const name = [...raw.cookies.keys()].find(key => key.endsWith('postern_session')) ?? '';
    await raw.signIn(elicitationId, user);
    const second = sessionIn(raw);
    expect(second).not.toBe(first);

    const replay = world.raw();
    replay.cookies.set(name, first);
    expect((await replay.get(`/e/${elicitationId}`)).body).not.toContain('csrf_token');

    // An id planted before the sign-in does not become the session's.
    const planted = `bs_${first.slice(3, 5)}${'B'.repeat(43)}`;
    const victim = world.raw();
    victim.cookies.set(name, planted);
    await victim.signIn(elicitationId, user);
    expect(sessionIn(victim)).not.toBe(planted);
    const attacker = world.raw();
    attacker.cookies.set(name, planted);
    expect((await attacker.get(`/e/${elicitationId}`)).body).not.toContain('csrf_token');
  });

  it('S06: the cookie of a login transaction is useless after the sign-in', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    const answer = await raw.signInAnswer(elicitationId, user);
    const before = new Map(raw.cookies);
    expect((await raw.get(answer)).status).toBe(303);
    expect([...raw.cookies.keys()].filter(key => key.includes('login'))).toEqual([]);
    const thief = world.raw();
    for (const [name, value] of before) thief.cookies.set(name, value);
    expect((await thief.get(answer)).status).toBe(400);
    expect(sessionIn(thief)).toBeUndefined();
  });

  it('S07: the gateway enforces idle and absolute session lifetime, not the cookie', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user, { ttlSeconds: 86_400 });
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const isSignedIn = async () => (await raw.get(`/e/${elicitationId}`)).body.includes('csrf_token');
    world.clock.ahead = 29 * 60_000;
    expect(await isSignedIn()).toBe(true);
    world.clock.ahead = 31 * 60_000;
    expect(await isSignedIn()).toBe(false);
    world.clock.ahead = 9 * HOUR;
    expect(await isSignedIn()).toBe(false);
  });

  it('S07: a POST extends a session and a GET does not, and the absolute lifetime holds', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user, { ttlSeconds: 86_400 });
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const isSignedIn = async () => (await raw.get(`/e/${elicitationId}`)).body.includes('csrf_token');
    const step = 25 * 60_000;
    for (world.clock.ahead = step; world.clock.ahead < 8 * HOUR; world.clock.ahead += step) {
      expect(await isSignedIn()).toBe(true);
      await raw.accept(elicitationId);
    }
    world.clock.ahead = 8 * HOUR + 1000;
    expect(await isSignedIn()).toBe(false);
  });

  it('S07: sign-out ends the session at the gateway', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const kept = new Map(raw.cookies);
    const csrf_token = await raw.csrfToken(elicitationId);
    expect((await raw.post('/logout', { form: { csrf_token: 'wrong' } })).status).toBe(403);
    expect((await raw.post(`/logout?e=${elicitationId}`, { form: { csrf_token } })).location).toBe(
      `/e/${elicitationId}?switch=1`,
    );
    expect(sessionIn(raw)).toBeUndefined();
    for (const [name, value] of kept) raw.cookies.set(name, value);
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('csrf_token');
  });

  it('S08: signs in with code, PKCE S256, state and nonce, each used once and only in the browser that began', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    const starts = await Promise.all([1, 2].map(() => world.raw().get(`/login?e=${elicitationId}`)));
    const queries = starts.map(({ location }) => new URL(location ?? '').searchParams);
    for (const query of queries)
      expect(Object.fromEntries(query)).toMatchObject({ response_type: 'code', code_challenge_method: 'S256' });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(queries[0]?.get(name)).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(queries[0]?.get(name)).not.toBe(queries[1]?.get(name));
    }
    const answer = await raw.signInAnswer(elicitationId, user);
    const wrongIssuer = new URL(answer);
    wrongIssuer.searchParams.set('iss', otherIssuer.issuer);
    expect((await world.raw().get(answer)).status).toBe(400);
    world.identityProvider.clearRequests();
    expect((await raw.get(wrongIssuer)).status).toBe(400);
    expect(world.identityProvider.requests('token')).toHaveLength(0);
    // The attempt with the wrong issuer has consumed it.
    expect((await raw.get(answer)).status).toBe(400);
  });

  it('S09, A8: Bob’s browser gets no session from a sign-in callback that Alice started', async () => {
    const { aliceName, bob, forBob, bobName, id } = await aliceAndBob();
    const attacker = world.raw();
    const answer = await attacker.signInAnswer(id, aliceName);
    const session = sessionIn(bob);
    expect((await bob.get(answer, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(400);
    expect(sessionIn(bob)).toBe(session);
    expect((await bob.get(`/e/${forBob.elicitationId}`)).body).toContain(`${bobName} Example`);

    // The same holds for a browser with another sign-in in progress.
    const fresh = world.raw();
    await fresh.get(`/login?e=${forBob.elicitationId}`);
    expect((await fresh.get(answer)).status).toBe(400);
    expect(sessionIn(fresh)).toBeUndefined();
  });

  it('S09: the page shows the signed-in user and offers to switch users', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    await using person = await newPerson(browser, aliceName);
    const { page } = person;
    const forBob = await world.ask(bobName);
    await page.goto(forBob.url);
    await signIn(page, aliceName);
    expect(await page.locator('main').textContent()).toContain(`${aliceName} Example`);
    await page.locator('form[action^="/logout"] button').click();
    await signIn(page, bobName);
    await page.locator('form[action$="/accept"]').waitFor();
    expect(await page.locator('main').textContent()).toContain(`${bobName} Example`);
    expect(await page.locator('form[action^="/logout"] button').count()).toBe(1);
  });
});
