import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptAndStay, askInBrowser, atProvider, connect, newPerson } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;

beforeAll(async () => {
  [browser, world] = await Promise.all([sharedBrowser(), startWorld()]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const tokenRequests = () => world.provider.requests('token').length;

describe('tabs and reloads', () => {
  it('opened twice: the second tab shows the same decision, and later the same result', async () => {
    await using person = await askInBrowser(browser, world);
    const { issued } = person;
    const second = await person.context.newPage();
    await second.goto(issued.url);
    const main = (page: Page) => page.locator('main').textContent();
    expect(await main(second)).toContain(issued.matchCode);

    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    await second.reload();
    expect(await main(second)).toBe(await main(person.page));
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('accepted in two tabs: only the response to the newer attempt counts', async () => {
    await using person = await askInBrowser(browser, world);
    const { issued } = person;
    const second = await person.context.newPage();
    await second.goto(issued.url);
    await acceptAndStay(person.page);
    await acceptAndStay(second);

    const before = tokenRequests();
    await person.page.locator('a.button.accent').click();
    await atProvider(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(tokenRequests()).toBe(before);
    expect(await statusOf(issued.elicitationId)).toBe('active');

    // The provider already has the user's consent and shows no page.
    await second.locator('a.button.accent').click();
    await second.waitForURL(issued.url);
    expect(tokenRequests()).toBe(before + 1);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('two concurrent sign-ins in one browser both succeed', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const issued = await world.ask(user);
    const second = await person.context.newPage();
    for (const page of [person.page, second]) {
      await page.goto(issued.url);
      await page.getByRole('link', { name: 'Continue to sign-in' }).click();
      await page.locator(`button[name=user][value=${user}]`).waitFor();
    }
    for (const page of [person.page, second]) {
      await page.locator(`button[name=user][value=${user}]`).click();
      await page.locator('form[action$="/accept"]').waitFor();
    }
    // The newer sign-in ended the older browser session. The first tab reports its stale form, and a reload fixes it.
    await person.page.reload();
    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('reloaded at every step: the flow completes once, with the same result', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const { page } = person;
    const issued = await world.ask(user);
    await page.goto(issued.url);
    await page.reload();
    await page.getByRole('link', { name: 'Continue to sign-in' }).click();
    await page.reload();
    await page.locator(`button[name=user][value=${user}]`).click();
    await page.waitForURL(issued.url);
    await page.reload();
    await acceptAndStay(page);
    // The leaving page goes on by itself.
    await page.reload();
    await page.locator('button[name=user][value=alice]').waitFor();
    await page.reload();
    await page.locator('button[name=user][value=alice]').click();
    await page.locator('button#allow').waitFor();
    await page.reload();

    const before = tokenRequests();
    const callback = page.waitForRequest(request => request.url().includes('/callback/tracker/forge?'));
    await page.locator('button#allow').click();
    const callbackUrl = (await callback).url();
    await page.waitForURL(issued.url);
    const done = (await world.api.read(issued.elicitationId)).body;
    expect(done.status).toBe('completed');
    await page.reload();

    // The OAuth callback again, as a restored tab requests it.
    await page.goto(callbackUrl);
    expect(page.url()).toBe(issued.url);
    expect(tokenRequests()).toBe(before + 1);
    expect((await world.api.read(issued.elicitationId)).body).toEqual(done);
  });

  it('the back button leads to pages with the current status', async () => {
    await using person = await askInBrowser(browser, world);
    const { page, issued } = person;
    await acceptAndStay(page);
    await page.goBack();
    expect(page.url()).toBe(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('active');

    // Accepting again replaces the attempt; declining would also work.
    await connect(page, 'alice');
    await page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
    await page.goto(`${issued.url}/leaving`);
    expect(page.url()).toBe(issued.url);
    expect(await page.locator('form[action$="/accept"]').count()).toBe(0);
  });

  it('S33: no code is left in any address of the tab’s history', async () => {
    await using person = await askInBrowser(browser, world);
    const { page, issued } = person;
    await connect(page, 'alice');
    await page.waitForURL(issued.url);
    const devtools = await person.context.newCDPSession(page);
    const { entries } = await devtools.send('Page.getNavigationHistory');
    const own = entries.map(({ url }) => url).filter(url => url.startsWith(world.publicUrl));
    expect(own.length).toBeGreaterThan(1);
    expect(own.filter(url => /[?&](code|state|ticket)=/.test(url))).toEqual([]);
    expect(await page.evaluate('document.referrer')).not.toMatch(/code=|state=/);
  });

  it('a double click on accept starts an attempt that works', async () => {
    await using person = await askInBrowser(browser, world);
    const { issued } = person;
    await person.page.locator('form[action$="/accept"] button').dblclick({ noWaitAfter: true });
    await atProvider(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('S11: steps out of order lead back to the decision page and change nothing', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    const page = `/e/${elicitationId}`;
    // A decision before the sign-in.
    expect((await raw.post(`${page}/accept`, { form: { csrf_token: 'x' } })).status).toBe(401);
    await raw.signIn(elicitationId, user);
    // The leaving page before accepting.
    expect(await raw.get(`${page}/leaving`)).toMatchObject({ status: 303, location: page });
    // An OAuth callback before any request.
    expect((await raw.get('/callback/tracker/forge?code=x&state=x')).status).toBe(400);
    expect(await statusOf(elicitationId)).toBe('pending');
    // The leaving page in another browser of the same user than the one that accepted.
    await raw.accept(elicitationId);
    const other = world.raw();
    await other.signIn(elicitationId, user);
    expect(await other.get(`${page}/leaving`)).toMatchObject({ status: 303, location: page });
    expect(await statusOf(elicitationId)).toBe('active');
  });
});
