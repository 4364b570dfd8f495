import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acceptAndStay, atProvider, newPerson, signIn } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;

beforeAll(async () => {
  [browser, world] = await Promise.all([sharedBrowser(), startWorld()]);
});
afterEach(() => world.provider.clearRequests());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const tokenRequests = () => world.provider.requests('token').length;

/** Alice with an elicitation, and Bob, who is signed in and has another one. */
async function aliceAndBob() {
  const [aliceName, bobName] = [world.subject(), world.subject()];
  const [forAlice, forBob] = [await world.ask(aliceName, { message: 'for-alice-only' }), await world.ask(bobName)];
  const [alice, bob] = [world.raw(), world.raw()];
  await alice.signIn(forAlice.elicitationId, aliceName);
  await bob.signIn(forBob.elicitationId, bobName);
  return { aliceName, bobName, alice, bob, forAlice, forBob, id: forAlice.elicitationId };
}

describe('A1–A5: the person who authorizes is the person who was asked', () => {
  it('A1: the MCP server gets our own link, never the provider’s', async () => {
    const issued = await world.ask(world.subject());
    expect(JSON.stringify(issued)).not.toContain(new URL(world.provider.issuer).host);
    expect(new URL(issued.url).origin).toBe(world.publicUrl);
  });

  it('A2 in two browsers: the wrong person sees and changes nothing, and the right one can continue', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    await using alice = await newPerson(browser, aliceName);
    await using bob = await newPerson(browser, bobName);
    const issued = await world.ask(aliceName, { message: 'for-alice-only', requestedBy: { tool: 'secret-tool' } });

    const opened = await bob.page.goto(issued.url);
    expect(opened?.status()).toBe(200);
    await bob.page.getByRole('link', { name: 'Continue to sign-in' }).click();
    const refused = bob.page.waitForResponse(response => response.url() === issued.url);
    await bob.page.locator(`button[name=user][value=${bobName}]`).click();
    expect((await refused).status()).toBe(403);
    const seen = await (await refused).text();
    for (const part of ['for-alice-only', 'secret-tool', aliceName, 'Issue Tracker', 'Code Forge', issued.matchCode])
      expect(seen).not.toContain(part);
    expect(await statusOf(issued.elicitationId)).toBe('pending');

    await alice.page.goto(issued.url);
    await signIn(alice.page, aliceName);
    await alice.page.locator('form[action$="/accept"] button').click();
    await atProvider(alice.page, 'alice');
    await alice.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  inFull.it('A3 in two browsers: an authorization URL opened by another user connects nothing', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    await using alice = await newPerson(browser, aliceName);
    await using bob = await newPerson(browser, bobName);
    const [forAlice, forBob] = [await world.ask(aliceName), await world.ask(bobName)];
    await alice.page.goto(forAlice.url);
    await signIn(alice.page, aliceName);
    await acceptAndStay(alice.page);
    const copied = await alice.page.locator('a.button.accent').getAttribute('href');

    await bob.page.goto(forBob.url);
    await signIn(bob.page, bobName);
    await bob.page.goto(copied ?? '');
    const answered = bob.page.waitForResponse(response => response.url().includes('/callback/tracker/forge?'));
    await bob.page.locator('button[name=user][value=bob]').click();
    await bob.page.locator('button#allow').click();
    expect((await answered).status()).toBe(400);
    expect(tokenRequests()).toBe(0);

    // S04: it is also consumed for the browser in which it started.
    const replay = await alice.page.goto((await answered).url());
    expect(replay?.url()).toBe(forAlice.url);
    expect(tokenRequests()).toBe(0);
    expect(await statusOf(forAlice.elicitationId)).not.toBe('completed');
    expect(await statusOf(forBob.elicitationId)).toBe('pending');
  });

  it.each(['signed in as Bob', 'without a session'])(
    'S04, A3: Alice’s callback in a browser %s consumes the state before any token request',
    async who => {
      const { alice, bob, id } = await aliceAndBob();
      const carrier = who === 'signed in as Bob' ? bob : world.raw();
      const callback = await carrier.decideAtProvider(await alice.accept(id), 'bob');
      world.provider.clearRequests();
      expect((await carrier.get(callback)).status).toBe(400);
      expect(await alice.get(callback)).toMatchObject({ status: 303, location: `/e/${id}` });
      expect((await carrier.get(callback)).status).toBe(400);
      expect(tokenRequests()).toBe(0);
      expect(await statusOf(id)).toBe('active');

      // Only the attempt is lost.
      await alice.get(await alice.decideAtProvider(await alice.accept(id), 'alice'));
      expect(await statusOf(id)).toBe('completed');
    },
  );

  it('A4: no later step of Alice replaces the check of the browser that delivered the code', async () => {
    const { alice, bob, id } = await aliceAndBob();
    const callback = await bob.decideAtProvider(await alice.accept(id), 'bob');
    world.provider.clearRequests();
    await bob.get(callback);
    await alice.get(`/e/${id}`);
    await alice.get(`/e/${id}/leaving`);
    await alice.get(callback);
    // Her new attempt does not accept Bob's code either, which belongs to another transaction.
    const again = await alice.accept(id);
    const code = callback.searchParams.get('code') ?? '';
    const forged = new URL(callback);
    forged.searchParams.set('state', again.searchParams.get('state') ?? '');
    forged.searchParams.set('code', code);
    await alice.get(forged);
    expect(world.provider.requests('token').filter(({ status }) => status === 200)).toHaveLength(0);
    expect(await statusOf(id)).not.toBe('completed');
  });

  it('A5: Bob’s unused code is not redeemed in Alice’s transaction', async () => {
    const { alice, bob, forBob, id } = await aliceAndBob();
    // Bob's own attempt, whose callback never arrives.
    const bobs = await bob.decideAtProvider(await bob.accept(forBob.elicitationId), 'bob');
    const mine = await alice.accept(id);
    const swapped = new URL(bobs);
    swapped.searchParams.set('state', mine.searchParams.get('state') ?? '');
    expect(await alice.get(swapped)).toMatchObject({ status: 303 });
    // The code is bound to Bob's verifier (PKCE): the provider refuses it, and nothing is stored.
    expect(world.provider.requests('token').filter(({ status }) => status === 200)).toHaveLength(0);
    expect(await statusOf(id)).toBe('pending');

    // Bob's response in Alice's browser consumes Bob's attempt without a token request.
    const second = await bob.decideAtProvider(await bob.accept(forBob.elicitationId), 'bob');
    world.provider.clearRequests();
    expect((await alice.get(second)).status).toBe(400);
    expect(tokenRequests()).toBe(0);
  });

  it('a callback after another user signed in makes no token request and shows no page', async () => {
    const { alice, aliceName, bobName, forBob, id } = await aliceAndBob();
    const callback = await alice.decideAtProvider(await alice.accept(id), 'alice');
    await alice.signIn(forBob.elicitationId, bobName);
    world.provider.clearRequests();
    expect(await alice.get(callback)).toMatchObject({ status: 303, location: `/e/${id}` });
    expect(tokenRequests()).toBe(0);
    const page = await alice.get(`/e/${id}`);
    expect(page.status).toBe(403);
    expect(page.body).not.toContain(aliceName);
    expect(await statusOf(id)).toBe('pending');
  });

  it('a callback after sign-out makes no token request', async () => {
    const { alice, id } = await aliceAndBob();
    const callback = await alice.decideAtProvider(await alice.accept(id), 'alice');
    const csrf_token = await alice.csrfToken(id);
    expect((await alice.post('/logout', { form: { csrf_token } })).status).toBe(200);
    world.provider.clearRequests();
    expect(await alice.get(callback)).toMatchObject({ status: 303, location: `/e/${id}` });
    expect(tokenRequests()).toBe(0);
    expect(await statusOf(id)).toBe('pending');
  });

  it('A7: the attacker’s callback planted in Bob’s browser is refused', async () => {
    const { alice, bob, forBob, id } = await aliceAndBob();
    const planted = await alice.decideAtProvider(await alice.accept(id), 'alice');
    await bob.accept(forBob.elicitationId);
    world.provider.clearRequests();
    expect((await bob.get(planted, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(400);
    expect(tokenRequests()).toBe(0);
    expect(await statusOf(forBob.elicitationId)).toBe('active');
  });
});
