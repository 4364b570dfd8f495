import { StoreUnavailableError } from '@postern/elicitation';
import { createCookieJar, driveAuthorization } from '@postern/testkit/providers';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { logoutIssuerOf, logoutToken as logoutTokenOf } from '../support/logout-token.ts';
import { csrfTokenIn, type RawAnswer, type RawBrowser, unescapeHtml } from '../support/raw-browser.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

type CookieJar = ReturnType<typeof createCookieJar>;

let world: World;
/** The last ID token that the gateway got. */
let idToken = '';
beforeAll(async () => {
  world = await startWorld({ replicas: 2 });
  // A client with these members gets the `sid` in its ID tokens.
  const client = await logoutIssuerOf(world).Client.find('postern');
  client.backchannelLogoutUri = `${world.publicUrl}/login/back-channel-logout/example-id`;
  client.backchannelLogoutSessionRequired = true;
  world.identityProvider.switches.rewriteTokenAnswer = answer => {
    idToken = String(answer['id_token']);
    return answer;
  };
});
afterAll(() => world?.[Symbol.asyncDispose]());

async function signedIn(user = world.subject()): Promise<{ raw: RawBrowser; user: string; sid: string }> {
  const raw = world.raw();
  await raw.signIn((await world.api.issue(askFor(world, user))).body.elicitationId, user);
  return { raw, user, sid: String(decodeJwt(idToken)['sid']) };
}

const logoutToken = (user: string, sid: string | undefined) =>
  logoutTokenOf(world, { client: 'postern', sub: user, sid });

function post(body: string | URLSearchParams, p: { replica?: number; idp?: string; type?: string } = {}) {
  const { replica = 1, idp = 'example-id', type = 'application/x-www-form-urlencoded' } = p;
  return fetch(`${world.gateways[replica]?.address}/login/back-channel-logout/${idp}`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: String(body),
  });
}
const logOut = (token: string, p: Parameters<typeof post>[1] = {}) =>
  post(new URLSearchParams({ logout_token: token }), p);
const isSignedIn = async ({ raw }: { raw: RawBrowser }) => (await raw.get('/me')).body.includes('/logout');

describe('S133: back-channel logout', () => {
  it('S133: ends the browser sessions of one session at the identity provider, on every replica, and no others', async () => {
    const [alice, bob] = [await signedIn(), await signedIn()];
    expect([await isSignedIn(alice), await isSignedIn(bob)]).toEqual([true, true]);
    const answer = await logOut(await logoutToken(alice.user, alice.sid));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect([await isSignedIn(alice), await isSignedIn(bob)]).toEqual([false, true]);
  });

  it('S133: without a session, ends all sessions of the user at this identity provider', async () => {
    const alice = await signedIn();
    const again = await signedIn(alice.user);
    const bob = await signedIn();
    expect((await logOut(await logoutToken(alice.user, undefined))).status).toBe(200);
    expect([await isSignedIn(alice), await isSignedIn(again), await isSignedIn(bob)]).toEqual([false, false, true]);
  });

  it('S133: a replayed token ends no session that began since', async () => {
    const alice = await signedIn();
    const token = await logoutToken(alice.user, undefined);
    const answers = await Promise.all([0, 1, 0, 1].map(replica => logOut(token, { replica })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    const later = await signedIn(alice.user);
    expect((await logOut(token)).status).toBe(400);
    expect(await isSignedIn(later)).toBe(true);
  });

  it('S133: refuses an ID token, an unknown identity provider and other bodies', async () => {
    const alice = await signedIn();
    const token = await logoutToken(alice.user, alice.sid);
    expect((await logOut(idToken)).status).toBe(400);
    expect((await logOut(token, { idp: 'nowhere' })).status).toBe(404);
    expect((await post('')).status).toBe(400);
    expect((await post(`logout_token=${token}&logout_token=${token}`)).status).toBe(400);
    expect((await post(JSON.stringify({ logout_token: token }), { type: 'application/json' })).status).toBe(415);
    expect((await post(`logout_token=${'x'.repeat(30_000)}`)).status).toBe(413);
    expect((await fetch(`${world.gateways[0]?.address}/login/back-channel-logout/example-id`)).status).toBe(404);
    expect(await isSignedIn(alice)).toBe(true);
    expect(world.log()).toContain('"event":"browser.logout_refused"');
  });

  it('a user can sign in again after a logout', async () => {
    const alice = await signedIn();
    await logOut(await logoutToken(alice.user, alice.sid));
    expect(await isSignedIn(await signedIn(alice.user))).toBe(true);
  });
});

/** Signs in with a browser that has a session at the identity provider afterwards. */
async function signedInThere(): Promise<{ raw: RawBrowser; user: string; jar: CookieJar }> {
  const [raw, user, jar] = [world.raw(), world.subject(), createCookieJar()];
  await raw.get(await driveAuthorization((await raw.get('/login?to=me')).location ?? '', user, { jar }));
  return { raw, user, jar };
}
const signOut = async (raw: RawBrowser, path = '/logout') =>
  raw.post(path, { form: { csrf_token: csrfTokenIn(await raw.get('/me')) } });
function endSessionIn({ body }: RawAnswer): URL | undefined {
  const href = /href="([^"]*\/session\/end[^"]*)"/.exec(body)?.[1];
  return href === undefined ? undefined : new URL(unescapeHtml(href));
}
/** Whether the identity provider signs this browser in without asking. */
async function isSignedInThere(raw: RawBrowser, jar: CookieJar): Promise<boolean> {
  const start = new URL((await raw.get('/login?to=me')).location ?? '');
  const answer = await fetch(start, { redirect: 'manual', headers: { cookie: jar.header(start) ?? '' } });
  return answer.headers.get('location')?.startsWith(world.publicUrl) === true;
}
const LOGOUT_COOKIE = 'postern_logout';
const refusedReturns = () =>
  world
    .log()
    .split('\n')
    .filter(line => line.includes('"browser.logout_refused"') && line.includes('"unknown_transaction"')).length;

describe('RP-initiated logout', () => {
  it('S172: ends the browser session on every replica first, then offers to sign out at the identity provider', async () => {
    const { raw, user, jar } = await signedInThere();
    const before = new Map(raw.cookies);
    const page = await signOut(raw);
    expect(page.status).toBe(200);
    for (const { address } of world.gateways) {
      const cookie = [...before].map(([name, value]) => `${name}=${value}`).join('; ');
      const me = await fetch(`${address}/me`, { headers: { cookie, accept: 'text/html' } });
      expect(await me.text()).not.toContain('/logout');
    }
    const url = endSessionIn(page);
    expect(url?.origin).toBe(new URL(world.identityProvider.issuer).origin);
    // Neither an ID token nor anything else that names the user.
    expect(Object.fromEntries(url?.searchParams ?? [])).toEqual({
      client_id: 'postern',
      post_logout_redirect_uri: `${world.publicUrl}/logout/callback/example-id`,
      state: expect.stringMatching(/^[\w-]{65}$/),
      ui_locales: 'en',
    });
    expect(await isSignedInThere(raw, jar)).toBe(true);
    const back = await driveAuthorization(url ?? '', user, { jar });
    expect(await raw.get(back)).toMatchObject({ status: 303, location: '/signed-out' });
    const last = await raw.get('/signed-out');
    expect([last.status, endSessionIn(last)]).toEqual([200, undefined]);
    expect(await isSignedInThere(raw, jar)).toBe(false);
  });

  it('S172: a sign-out that Redis did not confirm is neither claimed nor recorded', async () => {
    const { raw } = await signedInThere();
    const unavailable = world.gateways.map(({ deps }) =>
      vi.spyOn(deps.stores.browserSessions, 'end').mockRejectedValue(new StoreUnavailableError()),
    );
    const before = world.log().length;
    const page = await signOut(raw);
    for (const end of unavailable) end.mockRestore();
    expect([page.status, endSessionIn(page), await isSignedIn({ raw })]).toEqual([503, undefined, true]);
    expect(world.log().slice(before)).not.toContain('"browser.signed_out"');
  });

  it('S172: signing out everywhere offers it too', async () => {
    const { raw } = await signedInThere();
    expect(endSessionIn(await signOut(raw, '/me/browsers/end'))?.searchParams.get('client_id')).toBe('postern');
    expect(await isSignedIn({ raw })).toBe(false);
  });

  it('S172: switching accounts keeps the session at the identity provider', async () => {
    const { raw, user, jar } = await signedInThere();
    const { elicitationId } = (await world.api.issue(askFor(world, user))).body;
    const switched = await signOut(raw, `/logout?e=${elicitationId}`);
    expect(switched).toMatchObject({ status: 303, location: `/e/${elicitationId}?switch=1` });
    expect(raw.cookies.has(LOGOUT_COOKIE)).toBe(false);
    expect(await isSignedInThere(raw, jar)).toBe(true);
  });

  it('S173: a return counts once, in the browser that signed out', async () => {
    const { raw, user, jar } = await signedInThere();
    const url = endSessionIn(await signOut(raw));
    const state = raw.cookies.get(LOGOUT_COOKIE) ?? '';
    const back = await driveAuthorization(url ?? '', user, { jar });
    expect(back.searchParams.get('state')).toBe(state);
    const before = refusedReturns();
    expect((await raw.get(back, { headers: { 'sec-purpose': 'prefetch' } })).status).toBe(403);
    expect((await world.raw().get(back)).status).toBe(303);
    expect(refusedReturns()).toBe(before + 1);
    expect((await raw.get(back)).status).toBe(303);
    expect([refusedReturns(), raw.cookies.has(LOGOUT_COOKIE)]).toEqual([before + 1, false]);
    raw.cookies.set(LOGOUT_COOKIE, state);
    expect((await raw.get(back)).status).toBe(303);
    expect(refusedReturns()).toBe(before + 2);
    // Anyone can send a cookie and a state that are equal.
    raw.cookies.set(LOGOUT_COOKIE, 'x');
    expect((await raw.get('/logout/callback/example-id?state=x')).status).toBe(303);
    expect(refusedReturns()).toBe(before + 3);
    expect((await raw.get(`/logout/callback/nowhere?state=${state}`)).status).toBe(404);
  });

  it('S173: a link to the return neither signs a user out nor says that they are', async () => {
    const { raw } = await signedInThere();
    const link = await raw.get(`/logout/callback/example-id?state=${'A'.repeat(43)}`, {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(link).toMatchObject({ status: 303, location: '/signed-out' });
    expect(await raw.get('/signed-out')).toMatchObject({ status: 303, location: '/me' });
    expect(await isSignedIn({ raw })).toBe(true);
  });
});
