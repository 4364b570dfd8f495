import { isShortRun } from '@postern/testkit/run-size';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMovingBrowser } from '../support/moving-browser.ts';
import { acceptFormIn, destinationIn } from '../support/raw-browser.ts';
import { startWorld, type World } from '../support/world.ts';

/** Requests of one user on the way to a connection, in order. */
const STEPS = ['sign-in', 'sign-in callback', 'page and accept', 'leaving', 'provider callback'] as const;
/** In the short run eight: every two requests meet at the same replica and at different ones. */
const isPlayed = ([a = 0, b = 0, c = 0, d = 0, e = 0]: readonly number[]) =>
  !isShortRun || (d === (a ^ b) && e === (b ^ c));
/** All ways to distribute them over two replicas. */
const placements = Array.from({ length: 2 ** STEPS.length }, (_, bits) => STEPS.map((_step, at) => (bits >> at) & 1));

let world: World;
beforeAll(async () => {
  world = await startWorld({ replicas: 2 });
});
afterAll(() => world?.[Symbol.asyncDispose]());

function browserOf(world: World) {
  return createMovingBrowser({
    addresses: world.gateways.map(({ address }) => address),
    publicUrl: world.publicUrl,
  });
}

describe('two replicas of the gateway on one Redis', () => {
  // A waiter that misses the wake-up from the other replica would wait its full 55 seconds.
  it.each(placements.filter(isPlayed).map(placement => [placement.join(''), placement] as const))(
    'serve one user together: %s',
    { timeout: 50_000 },
    async (_name, placement) => {
      const [signIn = 0, signInCallback = 0, accept = 0, leaving = 0, callback = 0] = placement;
      const user = world.subject();
      const browser = browserOf(world);
      const issued = await world.ask(user);
      const page = `/e/${issued.elicitationId}`;
      // Wait at the replica that does not get the OAuth callback.
      const waiting = world.apiOf({ replica: 1 - callback }).read(issued.elicitationId, 55);

      const signInAnswer = await browser.at(signIn).signInAnswer(issued.elicitationId, user);
      expect(await browser.at(signInCallback).get(signInAnswer)).toMatchObject({ status: 303, location: page });
      const form = acceptFormIn(await browser.at(accept).get(page));
      const accepted = await browser.at(accept).post(`${page}/accept`, { form });
      expect(accepted).toMatchObject({ status: 303, location: `${page}/leaving` });
      const destination = destinationIn(await browser.at(leaving).get(`${page}/leaving`));
      const answer = await browser.at(callback).decideAtProvider(destination, 'alice');
      expect(await browser.at(callback).get(answer)).toMatchObject({ status: 303, location: page });

      const { body } = await waiting;
      expect(body).toMatchObject({ status: 'completed', outcome: { provider: 'forge' } });
      // Each replica opens values that the other one has sealed.
      for (const replica of [0, 1])
        expect(await world.apiOf({ replica }).accessToken(body.outcome?.connectionId ?? '')).toMatchObject({
          status: 200,
        });
    },
  );

  it('accept a form of the other replica', async () => {
    const user = world.subject();
    const browser = browserOf(world);
    const issued = await world.ask(user);
    await browser.at(0).signIn(issued.elicitationId, user);
    const form = { csrf_token: await browser.at(0).csrfToken(issued.elicitationId) };
    expect(await browser.at(1).post(`/e/${issued.elicitationId}/decline`, { form })).toMatchObject({ status: 303 });
    expect((await world.apiOf({ replica: 0 }).read(issued.elicitationId, 55)).body.status).toBe('declined');
  });

  it('accept an OAuth callback once, whichever replica gets the repeat', async () => {
    const user = world.subject();
    const browser = browserOf(world);
    const issued = await world.ask(user);
    await browser.at(0).signIn(issued.elicitationId, user);
    const answer = await browser.at(0).decideAtProvider(await browser.at(0).accept(issued.elicitationId), 'alice');
    const exchanges = () => world.provider.requests('token').length;
    const before = exchanges();
    const answers = await Promise.all([0, 1, 0, 1].map(replica => browser.at(replica).get(answer)));
    for (const { status, location } of answers)
      expect({ status, location }).toEqual({ status: 303, location: `/e/${issued.elicitationId}` });
    expect(exchanges()).toBe(before + 1);
    expect((await world.api.read(issued.elicitationId)).body.status).toBe('completed');
  });

  it('both treat a signed-out browser as signed out', async () => {
    const user = world.subject();
    const browser = browserOf(world);
    const issued = await world.ask(user);
    await browser.at(0).signIn(issued.elicitationId, user);
    const cookies = new Map(browser.at(0).cookies);
    const form = { csrf_token: await browser.at(1).csrfToken(issued.elicitationId) };
    expect((await browser.at(1).post('/logout', { form })).status).toBe(200);
    const stale = browser.at(0);
    for (const [name, value] of cookies) stale.cookies.set(name, value);
    expect((await stale.get(`/e/${issued.elicitationId}`)).body).not.toContain('csrf_token');
  });
});
