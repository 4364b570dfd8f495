import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { AuthorizationInput, ElicitationAnswer, World } from './world.ts';

/** A person with a browser of their own. */
export interface Person extends AsyncDisposable {
  readonly name: string;
  readonly context: BrowserContext;
  readonly page: Page;
}

export async function newPerson(browser: Browser, name: string, options: BrowserContextOptions = {}): Promise<Person> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', ...options });
  // Only turns a hang into a failure.
  context.setDefaultTimeout(100_000);
  return { name, context, page: await context.newPage(), [Symbol.asyncDispose]: () => context.close() };
}

/** A person who was asked for an authorization, has signed in, and is in front of the page. */
export interface AskedInBrowser extends Person {
  readonly issued: ElicitationAnswer;
}

/** @param ask over what `world.ask` asks for */
export async function askInBrowser(
  browser: Browser,
  world: World,
  ask: Partial<AuthorizationInput> = {},
): Promise<AskedInBrowser> {
  const user = world.subject();
  const person = await newPerson(browser, user);
  const issued = await world.ask(user, ask);
  await person.page.goto(issued.url);
  await signIn(person.page, user);
  return { ...person, issued };
}

/** On the gateway's sign-in page: goes to the identity provider and signs in as `user`. */
export async function signIn(page: Page, user: string): Promise<void> {
  await page.getByRole('link', { name: 'Continue to sign-in' }).click();
  await page.locator(`button[name=user][value=${user}]`).click();
}

/** Goes on to add a first passkey from the page of a payment: signs in as `user` for it, and goes on again. */
export async function goOnToFirstPasskey(page: Page, user: string): Promise<void> {
  const accept = page.locator('form[action$="/accept"] button');
  await accept.click();
  await signIn(page, user);
  await accept.click();
}

/** On the connect page: agrees, leaves, signs in at the provider as `user` and decides there. */
export async function connect(page: Page, user: string, decision: 'allow' | 'deny' = 'allow'): Promise<void> {
  await page.getByRole('button', { name: 'Continue' }).click();
  await atProvider(page, user, decision);
}

/** From the leaving page through the provider and back. */
export async function atProvider(page: Page, user: string, decision: 'allow' | 'deny' = 'allow'): Promise<void> {
  await page.waitForURL(/\/leaving$/);
  await page.locator('a.button.accent').click();
  const signInButton = page.locator(`button[name=user][value=${user}]`);
  const decisionButton = page.locator(`button#${decision}`);
  await signInButton.or(decisionButton).first().waitFor();
  if (await signInButton.isVisible()) await signInButton.click();
  await decisionButton.click();
}
