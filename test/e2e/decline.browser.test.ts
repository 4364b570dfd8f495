import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askInBrowser, newPerson, signIn } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

const RETURN_URL = 'https://tracker.example/back';
let browser: Browser;
let world: World;

beforeAll(async () => {
  [browser, world] = await Promise.all([sharedBrowser(), startWorld({ mcpServer: { returnUrls: [RETURN_URL] } })]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

describe('declining', () => {
  it('ends the elicitation, wakes the waiter and sends no request to the provider', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const issued = await world.ask(user, { returnUrl: RETURN_URL });
    const waiting = world.api.read(issued.elicitationId, 50);
    world.provider.clearRequests();

    await person.page.goto(issued.url);
    await signIn(person.page, user);
    await person.page.locator('form[action$="/decline"] button').click();
    await person.page.waitForURL(issued.url);

    expect((await waiting).body).toMatchObject({ status: 'declined' });
    expect((await waiting).body.outcome).toBeUndefined();
    expect(world.provider.requests('authorization')).toHaveLength(0);
    expect(world.provider.requests('token')).toHaveLength(0);
    // S32: the page links to the registered return URL and offers no decision.
    expect(await person.page.locator('main a.button').first().getAttribute('href')).toBe(RETURN_URL);
    expect(await person.page.locator('form[action$="/accept"]').count()).toBe(0);
  });

  it('is final: a reload, a back navigation or a later accept changes nothing', async () => {
    await using person = await askInBrowser(browser, world);
    const { issued } = person;
    await using other = { page: await person.context.newPage(), [Symbol.asyncDispose]: () => person.context.close() };
    await other.page.goto(issued.url);

    await person.page.locator('form[action$="/decline"] button').click();
    await person.page.waitForURL(issued.url);
    const declined = (await world.api.read(issued.elicitationId)).body;
    await person.page.reload();

    // The second tab still shows the decision page.
    await other.page.locator('form[action$="/accept"] button').click();
    await other.page.waitForURL(issued.url);
    expect(await other.page.locator('form[action$="/accept"]').count()).toBe(0);
    expect((await world.api.read(issued.elicitationId)).body).toEqual(declined);
  });

  it('lets the next ask start a new elicitation', async () => {
    const user = world.subject();
    const raw = world.raw();
    const first = await world.ask(user);
    await raw.signIn(first.elicitationId, user);
    const form = { csrf_token: await raw.csrfToken(first.elicitationId) };
    expect(await raw.post(`/e/${first.elicitationId}/decline`, { form })).toMatchObject({ status: 303 });
    const second = await world.ask(user);
    expect(second.elicitationId).not.toBe(first.elicitationId);
    // Declining again returns the same result.
    expect(await raw.post(`/e/${first.elicitationId}/decline`, { form })).toMatchObject({
      status: 303,
      location: `/e/${first.elicitationId}`,
    });
    expect((await world.api.read(second.elicitationId)).body.status).toBe('pending');
  });

  it('discards an OAuth callback that arrives later', async () => {
    const user = world.subject();
    const raw = world.raw();
    const issued = await world.ask(user);
    await raw.signIn(issued.elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(issued.elicitationId), 'alice');
    const form = { csrf_token: await raw.csrfToken(issued.elicitationId) };
    await raw.post(`/e/${issued.elicitationId}/decline`, { form });

    world.provider.clearRequests();
    expect(await raw.get(callback)).toMatchObject({ status: 303, location: `/e/${issued.elicitationId}` });
    expect(world.provider.requests('token')).toHaveLength(0);
    expect((await world.api.read(issued.elicitationId)).body.status).toBe('declined');
  });
});
