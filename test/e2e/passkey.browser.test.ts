import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueFor, paymentOf, paymentPolicy } from '../support/asks.ts';
import { addAuthenticator } from '../support/authenticator.ts';
import { newPerson, openSignedIn, signIn } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;
beforeAll(async () => {
  const payment = paymentPolicy({ passkeyAbove: { EUR: 2000 } });
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ mcpServer: { payment }, identityProvider: { claimsParameter: true } }),
  ]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

/** The page script sends the form some time after the click, and the page that follows has the same address. */
async function approveWithPasskey(page: Page): Promise<void> {
  await page.locator('form[data-passkey="assert"] button').click();
  await page.locator('form[data-passkey="assert"]').waitFor({ state: 'detached' });
}

const outcomeOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body;
const statusNow = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;

describe('a payment above the threshold', () => {
  it('S211: is approved with a passkey that is registered on first use, after one sign-in and five clicks, and used again', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const { page } = person;
    let clicks = 0;
    await page.exposeFunction('noteClick', () => {
      clicks += 1;
    });
    await page.addInitScript("addEventListener('click', event => event.isTrusted && noteClick(), true)");
    const authenticator = await addAuthenticator(page);
    const first = await issueFor(world, user, paymentOf());
    world.identityProvider.clearRequests();
    await page.goto(first.url);
    await signIn(page, user);
    await page.locator('form[action$="/accept"] button').click();
    await page.locator('form[data-passkey="register"] button').click();
    await approveWithPasskey(page);
    // To the sign-in, at the identity provider, accept, create the passkey, use it.
    expect(clicks).toBe(5);
    const signIns = world.identityProvider.requests('authorization').filter(({ url }) => url.searchParams.has('state'));
    expect(signIns.map(({ url }) => url.searchParams.get('max_age'))).toEqual([null]);
    expect(await outcomeOf(first.elicitationId)).toMatchObject({
      status: 'completed',
      outcome: { approval: { method: 'passkey', identity: world.file === undefined ? 'login' : 'loopback' } },
    });
    expect(await authenticator.credentials()).toHaveLength(1);

    const second = await issueFor(world, user, paymentOf());
    // Approving with a passkey is one step.
    await page.goto(second.url);
    await approveWithPasskey(page);
    expect(await outcomeOf(second.elicitationId)).toMatchObject({ outcome: { approval: { method: 'passkey' } } });
    expect(await authenticator.credentials()).toHaveLength(1);
    await page.goto(new URL('/me', first.url).href);
    expect(await page.locator('a[href$="/remove"]').count()).toBe(1);
  });

  it('is not approved by a device without user verification', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const { page } = person;
    const authenticator = await addAuthenticator(page);
    const issued = await issueFor(world, user, paymentOf());
    await openSignedIn(person, world, issued);
    await page.locator('form[action$="/accept"] button').click();
    await page.locator('form[data-passkey="register"] button').click();
    await page.locator('form[data-passkey="assert"]').waitFor();
    await authenticator.recognises(false);
    await page.locator('form[data-passkey="assert"] button').click();
    await expect.poll(() => page.locator('[role="status"]').textContent()).not.toBe('');
    expect(await statusNow(issued.elicitationId)).toBe('pending');
  });

  inFull.it('is approved with the button below the threshold', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false });
    const { page } = person;
    const amount = { currency: 'EUR', minorUnits: 2000 };
    const items = [{ label: 'Book', unitMinorUnits: 2000 }];
    const issued = await issueFor(world, user, paymentOf({ amount, items }));
    const { url, elicitationId } = issued;
    await openSignedIn(person, world, issued);
    await page.locator('form[action$="/accept"] button').click();
    await page.waitForURL(url);
    expect(await outcomeOf(elicitationId)).toMatchObject({ outcome: { approval: { method: 'button' } } });
  });
});
