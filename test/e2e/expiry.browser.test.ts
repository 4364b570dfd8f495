import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askInBrowser } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

const TTL_SECONDS = 60;
/** A waiter without a wake-up responds after its 50 seconds, with the same response. */
const LESS_THAN_THE_WAIT_MS = 45_000;
let browser: Browser;
let world: World;
const pass = (seconds: number) => {
  world.clock.ahead += seconds * 1000;
};

beforeAll(async () => {
  [browser, world] = await Promise.all([sharedBrowser(), startWorld({ sweepPauseMs: 20 })]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;

describe('an expired elicitation', () => {
  it('wakes its waiter although the link was never opened', { timeout: LESS_THAN_THE_WAIT_MS }, async () => {
    const issued = await world.ask(world.subject(), { ttlSeconds: TTL_SECONDS });
    const waiting = world.api.read(issued.elicitationId, 50);
    pass(TTL_SECONDS);
    expect((await waiting).body).toMatchObject({ status: 'expired' });
    expect((await waiting).body.outcome).toBeUndefined();
  });

  it('shows that it expired, and a form that was opened earlier decides nothing', async () => {
    await using person = await askInBrowser(browser, world, { ttlSeconds: TTL_SECONDS });
    const { issued } = person;
    await person.page.locator('form[action$="/accept"]').waitFor();

    pass(TTL_SECONDS);
    await person.page.locator('form[action$="/accept"] button').click();
    await person.page.waitForURL(issued.url);
    expect(await person.page.locator('form[action$="/accept"]').count()).toBe(0);
    expect(await person.page.locator('main h1').count()).toBe(1);
    expect(await statusOf(issued.elicitationId)).toBe('expired');

    await person.page.reload();
    expect(await person.page.locator('form:not([action="/language"])').count()).toBe(0);
  });

  it('stays expired after a late decline', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { ttlSeconds: TTL_SECONDS });
    await raw.signIn(elicitationId, user);
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    pass(TTL_SECONDS);
    expect(await raw.post(`/e/${elicitationId}/decline`, { form })).toMatchObject({ status: 303 });
    expect(await statusOf(elicitationId)).toBe('expired');
  });

  it('ignores an OAuth callback that arrives after expiry', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { ttlSeconds: TTL_SECONDS });
    await raw.signIn(elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    pass(TTL_SECONDS);
    expect(await raw.get(callback)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect(await statusOf(elicitationId)).toBe('expired');
    const { body } = await world.api.call<{ connections: unknown[] }>(
      'GET',
      `/v1/connections?${new URLSearchParams({ issuer: world.identityProvider.issuer, subject: user })}`,
    );
    expect(body.connections).toEqual([]);
  });

  it('T5: an authorization attempt expires after ten minutes although the elicitation is still open', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { ttlSeconds: 1200 });
    await raw.signIn(elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    pass(601);
    expect((await raw.get(callback)).status).toBe(400);
    expect(world.provider.requests('token')).toHaveLength(0);
    expect(await statusOf(elicitationId)).toBe('active');

    expect((await raw.accept(elicitationId)).origin).toBe(world.provider.issuer);
  });

  it('a login transaction expires after ten minutes', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { ttlSeconds: 1200 });
    const answer = await raw.signInAnswer(elicitationId, user);
    world.identityProvider.clearRequests();
    pass(601);
    expect((await raw.get(answer)).status).toBe(400);
    expect(world.identityProvider.requests('token')).toHaveLength(0);
    expect([...raw.cookies.keys()].filter(name => name.includes('session'))).toEqual([]);
  });

  it('lets the same ask start a new elicitation', async () => {
    const user = world.subject();
    const first = await world.ask(user, { ttlSeconds: TTL_SECONDS });
    pass(TTL_SECONDS);
    const second = await world.ask(user, { ttlSeconds: TTL_SECONDS });
    expect(second.elicitationId).not.toBe(first.elicitationId);
  });
});
