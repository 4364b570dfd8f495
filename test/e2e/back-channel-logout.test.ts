import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawBrowser } from '../support/raw-browser.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

/** What oidc-provider signs a logout token with; its types do not show it. */
interface LogoutToken {
  mask: Record<string, null>;
  set(claim: string, value: unknown): void;
  issue(p: { use: 'logout' }): Promise<string>;
}
interface LogoutIssuer {
  readonly IdToken: new (claims: { sub: string }, p: { client: unknown; ctx: undefined }) => LogoutToken;
  readonly Client: {
    find(id: string): Promise<{ backchannelLogoutUri?: string; backchannelLogoutSessionRequired?: boolean }>;
  };
}

let world: World;
let issuer: LogoutIssuer;
/** The last ID token that the gateway got. */
let idToken = '';
beforeAll(async () => {
  world = await startWorld({ replicas: 2 });
  issuer = world.identityProvider.provider as unknown as LogoutIssuer;
  // A client with these members gets the `sid` in its ID tokens.
  const client = await issuer.Client.find('postern');
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

/** Returns the logout token that the provider would send (its host refuses to call a loopback address). */
async function logoutToken(user: string, sid: string | undefined): Promise<string> {
  const token = new issuer.IdToken({ sub: user }, { client: await issuer.Client.find('postern'), ctx: undefined });
  token.mask = { sub: null };
  token.set('events', { 'http://schemas.openid.net/event/backchannel-logout': {} });
  token.set('jti', randomUUID());
  if (sid !== undefined) token.set('sid', sid);
  return token.issue({ use: 'logout' });
}

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
