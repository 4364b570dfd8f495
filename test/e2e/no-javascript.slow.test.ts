import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptAndStay, atProvider, newPerson, signIn } from '../support/browser.ts';
import { axeFindings } from '../support/page-checks.ts';
import { startWorld, type World } from '../support/world.ts';

const narrow = { viewport: { width: 320, height: 640 } };
let browser: Browser;
let world: World;

beforeAll(async () => {
  [browser, world] = await Promise.all([sharedBrowser(), startWorld()]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;

/** Asserts that nothing overflows a window 320 px wide, and that there is one heading in one main landmark. */
async function expectWellFormed(page: Page): Promise<void> {
  const widest = await page
    .locator('body *')
    .evaluateAll(elements => Math.max(...elements.map(element => element.getBoundingClientRect().right)));
  expect(widest).toBeLessThanOrEqual(320);
  expect(await page.locator('main h1').count()).toBe(1);
}

describe('S34: without JavaScript, 320 pixels wide', () => {
  it('connects', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...narrow });
    const { page } = person;
    const issued = await world.ask(user, { message: 'W'.repeat(200) });
    await page.goto(issued.url);
    await expectWellFormed(page);
    await signIn(page, user);
    await page.locator('form[action$="/accept"]').waitFor();
    await expectWellFormed(page);
    await acceptAndStay(page);
    await expectWellFormed(page);
    await page.locator('a.button.accent').click();
    await atProvider(page, 'alice');
    await page.waitForURL(issued.url);
    await expectWellFormed(page);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
  });

  it('declines, and switches the user', async () => {
    const [user, other] = [world.subject(), world.subject()];
    await using person = await newPerson(browser, user, { javaScriptEnabled: false, ...narrow });
    const { page } = person;
    const issued = await world.ask(user);
    await page.goto(issued.url);
    await signIn(page, other);
    await page.locator('form[action^="/logout"] button').waitFor();
    await expectWellFormed(page);
    // The identity provider's own sign-out page requires JavaScript.
    await person.context.clearCookies({ name: `session-${world.identityProvider.port}` });
    await page.locator('form[action^="/logout"] button').click();
    await signIn(page, user);
    await page.locator('form[action$="/decline"] button').click();
    await page.waitForURL(issued.url);
    await expectWellFormed(page);
    expect(await statusOf(issued.elicitationId)).toBe('declined');
  });
});

describe('S34: axe finds nothing on any page of the real flow', () => {
  it.each(['light', 'dark'] as const)('in %s', async colorScheme => {
    const [user, other] = [world.subject(), world.subject()];
    await using person = await newPerson(browser, user, { bypassCSP: true, colorScheme, ...narrow });
    const { page } = person;
    const findings: string[] = [];
    const inspect = async (name: string) => {
      const found = await axeFindings(page, colorScheme === 'light' ? 'all' : 'colours');
      findings.push(...found.map(finding => `${name} ${finding}`));
    };

    const issued = await world.ask(user);
    await page.goto(issued.url);
    await inspect('sign in');
    await signIn(page, other);
    await page.locator('form[action^="/logout"] button').waitFor();
    await inspect('wrong person');
    await page.locator('form[action^="/logout"] button').click();
    await signIn(page, user);
    await page.locator('form[action$="/accept"]').waitFor();
    await inspect('question');
    await acceptAndStay(page);
    await inspect('leaving');
    await page.locator('a.button.accent').click();
    await atProvider(page, 'alice', 'deny');
    await page.waitForURL(issued.url);
    await inspect('question with a notice');
    await page.locator('form[action$="/accept"] button').click();
    await atProvider(page, 'alice');
    await page.waitForURL(issued.url);
    await inspect('done');

    const second = await world.ask(user, { authorization: { provider: 'forge', scopes: ['issues'] } });
    await page.goto(second.url);
    await page.locator('form[action$="/decline"] button').click();
    await page.waitForURL(second.url);
    await inspect('declined');
    const third = await world.ask(user, { authorization: { provider: 'forge', scopes: ['issues'] } });
    await world.api.cancel(third.elicitationId);
    await page.goto(third.url);
    await inspect('cancelled');
    await page.goto(`${world.publicUrl}/e/el_00${'A'.repeat(43)}`);
    await inspect('not found');
    await page.goto(`${world.publicUrl}/callback/tracker/forge?code=x&state=x`);
    await inspect('wrong browser');
    await page.goto(`${world.publicUrl}/login/callback/example-id?code=x&state=x`);
    await inspect('sign-in failed');
    expect(findings).toEqual([]);
  });
});
