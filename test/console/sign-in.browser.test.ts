import { createLogger, parseConfig, startGateway } from '@postern/gateway';
import { sharedBrowser } from '@postern/testkit/chromium';
import { freePort } from '@postern/testkit/processes';
import { driveAuthorization } from '@postern/testkit/providers';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson } from '../support/browser.ts';
import { logoutToken } from '../support/logout-token.ts';
import { createRawBrowser, unescapeHtml } from '../support/raw-browser.ts';
import type { World } from '../support/world.ts';
import {
  CONSOLE,
  consoleAddress,
  consoleBrowser,
  csrfTokenIn,
  operators,
  signedIn,
  signIn,
  signInAnswer,
  startConsoleWorld,
} from './console-world.ts';

let world: World;
/** The `sid` of every ID token so far. */
const sids: string[] = [];
let port: number;
beforeAll(async () => {
  port = await freePort();
  world = await startConsoleWorld({}, undefined, { alsoAt: `http://127.0.0.1:${port}` });
  world.identityProvider.switches.rewriteTokenAnswer = answer => {
    sids.push(String(decodeJwt(String(answer['id_token']))['sid']));
    return answer;
  };
});
afterAll(() => world[Symbol.asyncDispose]());

const SESSION = 'postern_console';

const post = (address: string, logoutToken: string) =>
  fetch(address, { method: 'POST', body: new URLSearchParams({ logout_token: logoutToken }) });
const logOut = (token: string, name = 'console') =>
  post(`${consoleAddress(world)}/login/back-channel-logout/${name}`, token);

describe('S135: sign-in of operators', () => {
  it('shows nothing but a sign-in before it', async () => {
    const page = await consoleBrowser(world).get('/elicitations');
    expect(page.status).toBe(401);
    expect(page.body).toContain('/login?to=%2Felicitations');
    expect(page.body).not.toContain('<nav');
  });

  it('uses code, PKCE, state and nonce with a client of its own, and returns to the page', async () => {
    const browser = consoleBrowser(world);
    const start = await browser.get('/login?to=%2Felicitations%3Fphase%3Dended');
    const authorization = new URL(start.location ?? '');
    expect(start.status).toBe(303);
    expect(Object.fromEntries(authorization.searchParams)).toMatchObject({
      client_id: 'postern-console',
      redirect_uri: `${CONSOLE}/login/callback/console`,
      code_challenge_method: 'S256',
      state: expect.any(String),
      nonce: expect.any(String),
    });
    const answer = await signIn(browser, operators.viewer, '/login?to=%2Felicitations%3Fphase%3Dended');
    expect(answer.status).toBe(303);
    expect(answer.location).toBe('/elicitations?phase=ended');
    expect([...browser.cookies.keys()]).toContain(SESSION);
    expect(answer.setCookies.find(line => line.startsWith(`${SESSION}=`))).toMatch(/; Path=\/; HttpOnly; SameSite=Lax/);
  });

  it.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/login?to=/', '/a b'])(
    'returns to the overview instead of %j',
    async to => {
      const browser = consoleBrowser(world);
      const answer = await signIn(browser, operators.viewer, `/login?to=${encodeURIComponent(to)}`);
      expect(answer.location).toBe('/');
    },
  );

  it('refuses a callback in another browser, and one that was used', async () => {
    const mine = consoleBrowser(world);
    const callback = await signInAnswer(mine, operators.operator);
    expect((await consoleBrowser(world).get(callback)).status).toBe(400);
    expect((await mine.get(callback)).status).toBe(303);
    expect((await mine.get(callback)).status).toBe(400);
  });

  it('gives a browser without a role no session', async () => {
    const browser = consoleBrowser(world);
    const answer = await signIn(browser, operators.none);
    expect(answer.status).toBe(403);
    expect([...browser.cookies.keys()]).not.toContain(SESSION);
    expect(world.log()).toContain('"console.refused"');
  });

  it('ends the session on sign-out, which needs the token of the page and the origin of the console', async () => {
    const browser = await signedIn(world, operators.viewer);
    const form = { csrf_token: csrfTokenIn(await browser.get('/')) };
    expect((await browser.post('/logout', { form: { csrf_token: 'x' } })).status).toBe(403);
    const crossSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await browser.post('/logout', { form, headers: crossSite })).status).toBe(403);
    const session = browser.cookies.get(SESSION) ?? '';
    expect((await browser.post('/logout', { form })).status).toBe(200);
    browser.cookies.set(SESSION, session);
    expect((await browser.get('/')).status).toBe(401);
  });

  it('lets an operator whose role was removed sign out', async () => {
    const { console: configured } = world.config;
    if (configured === undefined) throw new Error('no console');
    const roles = { ...configured.roles, viewer: ['someone-else'] };
    await using changed = await startGateway(
      parseConfig({ ...world.config, listen: { port: 0 }, console: { ...configured, roles } }),
      { logger: createLogger({ level: 'silent' }) },
    );
    const before = await signedIn(world, operators.viewer);
    const browser = createRawBrowser({ address: changed.console?.address ?? '', publicUrl: CONSOLE });
    for (const [name, value] of before.cookies) browser.cookies.set(name, value);
    const page = await browser.get('/');
    expect(page.status).toBe(403);
    const form = { csrf_token: csrfTokenIn(page) };
    expect((await browser.post('/logout', { form })).status).toBe(200);
    expect((await before.get('/')).status).toBe(401);
  });

  it('ends sessions after the idle time, which pages that are only looked at do not extend', async () => {
    const browser = await signedIn(world, operators.viewer);
    world.clock.pass(59 * 60);
    expect((await browser.get('/people')).status).toBe(403);
    world.clock.pass(2 * 60);
    expect((await browser.get('/people')).status).toBe(401);
    world.clock.backToNow();
  });
});

describe('S211: the way back from the identity provider', () => {
  const fromElsewhere = { headers: { 'sec-fetch-site': 'cross-site' } };

  it('S211: is no link from another site, and the first sign-in is recent enough to act', async () => {
    const { elicitationId } = await world.ask('carol');
    const { console: configured } = world.config;
    if (configured === undefined) throw new Error('no console');
    const url = `http://127.0.0.1:${port}`;
    await using _gateway = await startGateway(
      parseConfig({
        ...world.config,
        listen: { port: 0 },
        console: { ...configured, publicUrl: url, listen: { port } },
      }),
      { logger: createLogger({ level: 'silent' }) },
    );
    await using person = await newPerson(await sharedBrowser(), operators.operator);
    const { page } = person;
    await page.goto(`${url}/elicitations/${elicitationId}/cancel`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.locator(`button[name=user][value=${operators.operator}]`).click();
    // Neither a warning nor another sign-in.
    await page.locator('form.act input[name=reason]').waitFor();
    expect(page.url()).toBe(`${url}/elicitations/${elicitationId}/cancel`);
    // A page of another site leads here.
    await page.goto(world.identityProvider.issuer);
    await page.evaluate(`location.href = ${JSON.stringify(`${url}/elicitations/${elicitationId}`)}`);
    await page.waitForURL(`${url}/**`);
    expect(await page.locator('nav[aria-label=Sections]').count()).toBe(0);
    await page.locator(`main a[href="/elicitations/${elicitationId}"]`).click();
    await page.locator('nav[aria-label=Sections]').waitFor();
  });

  it('S211: no other site starts a sign-in, whose way back would lead to a person', async () => {
    const to = encodeURIComponent('/elicitations/el_1');
    const page = await consoleBrowser(world).get(`/login?to=${to}&fresh=1`, fromElsewhere);
    expect(page).toMatchObject({ status: 200, location: undefined, setCookies: [] });
    expect(unescapeHtml(page.body)).toContain(`href="/login?to=${to}&fresh=1"`);
    const before = await consoleBrowser(world).get('/elicitations/el_1', fromElsewhere);
    expect(before.status).toBe(401);
    expect(before.body).toContain('<bdi>/elicitations/el_1</bdi>');
  });

  it('S211: leads to a path of the console only', async () => {
    const browser = consoleBrowser(world);
    const callback = await signInAnswer(browser, operators.viewer, '/login?to=%2Felicitations%3Fa%3D%22%3E');
    const page = await browser.get(callback, fromElsewhere);
    expect(page.status).toBe(200);
    expect(unescapeHtml(page.body)).toContain('content="0; url=/elicitations?a=">"');
  });
});

describe('S174: logout of operators', () => {
  it('S174: signing out ends the session here first, then offers to sign out at the identity provider', async () => {
    const browser = await signedIn(world, operators.viewer);
    const page = await browser.post('/logout', { form: { csrf_token: csrfTokenIn(await browser.get('/')) } });
    expect((await browser.get('/')).status).toBe(401);
    const url = new URL(unescapeHtml(/href="([^"]*\/session\/end[^"]*)"/.exec(page.body)?.[1] ?? ''));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'postern-console',
      post_logout_redirect_uri: `${CONSOLE}/logout/callback/console`,
      state: expect.stringMatching(/^[\w-]{65}$/),
    });
    const refused = () => world.log().split('"console.logout_refused"').length - 1;
    const before = refused();
    const back = await driveAuthorization(url, operators.viewer);
    expect(await browser.get(back)).toMatchObject({ status: 303, location: '/signed-out' });
    expect((await browser.get('/signed-out')).status).toBe(200);
    expect(refused()).toBe(before);
    expect((await browser.get(back)).status).toBe(303);
    expect(refused()).toBe(before + 1);
  });

  it('S174: tells a signed-in operator who follows a link to the return that they are signed in', async () => {
    const browser = await signedIn(world, operators.viewer);
    expect((await browser.get('/logout/callback/console?state=x')).location).toBe('/signed-out');
    expect(await browser.get('/signed-out')).toMatchObject({ status: 303, location: '/' });
  });

  it('S174: a back-channel logout ends the sessions of one session at the identity provider, once', async () => {
    const [vera, again] = [await signedIn(world, operators.viewer), await signedIn(world, operators.viewer)];
    const [sid = ''] = sids.slice(-2);
    const token = await logoutToken(world, { client: 'postern-console', sub: operators.viewer, sid });
    expect((await logOut(token)).status).toBe(200);
    expect([(await vera.get('/')).status, (await again.get('/')).status]).toEqual([401, 200]);
    expect((await logOut(token)).status).toBe(400);
    expect(world.log()).toContain('"console.logged_out"');
  });

  it('S174: without a session, ends all sessions of the operator; the token of another client ends none', async () => {
    const [sam, other] = [await signedIn(world, operators.support), await signedIn(world, operators.operator)];
    const foreign = await logoutToken(world, { client: 'postern', sub: operators.support });
    expect((await logOut(foreign)).status).toBe(400);
    expect((await sam.get('/')).status).toBe(200);
    const token = await logoutToken(world, { client: 'postern-console', sub: operators.support });
    expect((await logOut(token)).status).toBe(200);
    expect([(await sam.get('/')).status, (await other.get('/')).status]).toEqual([401, 200]);
    expect((await logOut(token, 'nowhere')).status).toBe(404);
    expect((await logOut('a.b.c')).status).toBe(400);
    expect(world.log()).toContain('"console.logout_refused"');
  });

  it('S174: a logout of users at the same identity provider ends no session of an operator', async () => {
    const oscar = await signedIn(world, operators.operator);
    const [sid = ''] = sids.slice(-1);
    const token = await logoutToken(world, { client: 'postern', sub: operators.operator, sid });
    const address = `${world.gateways[0]?.address}/login/back-channel-logout/example-id`;
    expect((await post(address, token)).status).toBe(200);
    expect((await oscar.get('/')).status).toBe(200);
  });
});

it('S136: a session of a user opens no page of the console, and one of an operator none of the hosted pages', async () => {
  const { elicitationId } = await world.ask('alice');
  const user = world.raw();
  await user.signIn(elicitationId, 'alice');
  const userSession = user.cookies.get('postern_session') ?? '';
  expect(userSession).toMatch(/^bs_/);
  const forged = consoleBrowser(world);
  forged.cookies.set(SESSION, userSession);
  expect((await forged.get('/')).status).toBe(401);

  const operator = await signedIn(world, operators.operator);
  const other = world.raw();
  other.cookies.set('postern_session', operator.cookies.get(SESSION) ?? '');
  const page = await other.get('/me');
  expect(page.body).not.toContain(operators.operator);
  expect(page.body).toContain('/login');
});

it('S136: limits requests without a session, each of which reads one from Redis', async () => {
  const browser = consoleBrowser(world);
  browser.cookies.set(SESSION, `bs_00${'A'.repeat(43)}`);
  const statuses = await Promise.all(Array.from({ length: 320 }, async () => (await browser.get('/')).status));
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
});
