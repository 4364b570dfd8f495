import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { AuthorizationInput, ElicitationAnswer, World } from './world.ts';
import { storeOfWorlds } from './world-store.ts';

/** A user with a separate browser. */
export interface Person extends AsyncDisposable {
  readonly name: string;
  readonly context: BrowserContext;
  readonly page: Page;
}

export interface PersonOptions extends BrowserContextOptions {
  /**
   * Whether open pages find out by themselves that they are out of date. Default: false, because such a page may go on while a
   * test clicks in it.
   */
  readonly hasLivePages?: boolean;
}

export async function newPerson(
  browser: Browser,
  name: string,
  { hasLivePages = false, ...options }: PersonOptions = {},
): Promise<Person> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', ...options });
  // Of the scripts of the pages, only the one that asks the gateway uses it.
  if (!hasLivePages) await context.addInitScript("globalThis.fetch = () => Promise.reject(new TypeError('held'))");
  // Only turns a hang into a failure.
  context.setDefaultTimeout(100_000);
  return { name, context, page: await context.newPage(), [Symbol.asyncDispose]: () => context.close() };
}

/** A signed-in user in front of the page of an authorization. */
export interface AskedInBrowser extends Person {
  readonly issued: ElicitationAnswer;
}

/** @param ask overrides of the request of `world.ask` */
export async function askInBrowser(
  browser: Browser,
  world: World,
  ask: Partial<AuthorizationInput> = {},
): Promise<AskedInBrowser> {
  const user = world.subject();
  const person = await newPerson(browser, user);
  const issued = await world.ask(user, ask);
  await openSignedIn(person, world, issued);
  return { ...person, issued };
}

/**
 * Opens an elicitation in the browser of `person`, whom it signs in first unless the browser has visited the gateway. For tests about
 * something else than signing in: chromium takes half a second for the pages of the identity provider.
 */
export async function openSignedIn(
  { name, context, page }: Person,
  world: Pick<World, 'publicUrl' | 'raw'>,
  { elicitationId, url }: Pick<ElicitationAnswer, 'elicitationId' | 'url'>,
): Promise<void> {
  // One person's gateway needs no sign-in for it.
  if (storeOfWorlds() !== 'file' && (await context.cookies(url)).length === 0) {
    const raw = world.raw();
    await raw.signIn(elicitationId, name);
    const shared = { url: world.publicUrl, httpOnly: true, sameSite: 'Lax' } as const;
    await context.addCookies(Array.from(raw.cookies, ([cookie, value]) => ({ name: cookie, value, ...shared })));
  }
  await page.goto(url);
}

/** Signs in as `user`, from the gateway's sign-in page through the identity provider. One person's gateway has no such page. */
export async function signIn(page: Page, user: string): Promise<void> {
  if (storeOfWorlds() === 'file') return;
  await page.getByRole('link', { name: 'Continue to sign-in' }).click();
  await page.locator(`button[name=user][value=${user}]`).click();
}

/** Continues from the page of a payment to adding a first passkey, which includes a sign-in as `user`. */
export async function goOnToFirstPasskey(page: Page, user: string): Promise<void> {
  const accept = page.locator('form[action$="/accept"] button');
  await accept.click();
  await signIn(page, user);
  await accept.click();
}

/** Accepts on the connect page, leaves, signs in at the provider as `user` and decides there. */
export async function connect(page: Page, user: string, decision: 'allow' | 'deny' = 'allow'): Promise<void> {
  await page.getByRole('button', { name: 'Continue' }).click();
  await atProvider(page, user, decision);
}

/** Accepts on the connect page, and stays on the leaving page, which otherwise goes on by itself. Its link still works. */
export async function acceptAndStay(page: Page): Promise<void> {
  const { origin } = new URL(page.url());
  let isHeld = true;
  // A navigation that gets status 204 leaves the page as it is.
  await page.route(
    url => isHeld && url.origin !== origin,
    async route => {
      isHeld = false;
      await route.fulfill({ status: 204 });
    },
  );
  // Chromium cancels it after the response. Until then it would end the next navigation of the page too.
  const held = page.waitForEvent('requestfailed', request => request.isNavigationRequest());
  await page.locator('form[action$="/accept"] button').click();
  await held;
  if (!page.url().endsWith('/leaving')) throw new Error(`not the leaving page: ${page.url()}`);
}

/** Goes from the leaving page through the provider and back. */
export async function atProvider(page: Page, user: string, decision: 'allow' | 'deny' = 'allow'): Promise<void> {
  const signInButton = page.locator(`button[name=user][value=${user}]`);
  const decisionButton = page.locator(`button#${decision}`);
  await signInButton.or(decisionButton).first().waitFor();
  if (await signInButton.isVisible()) await signInButton.click();
  await decisionButton.click();
}
