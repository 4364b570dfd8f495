import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const CANDIDATES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** Debian's chromium, kept from calling home. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = CANDIDATES.find(path => path !== undefined && existsSync(path));
  if (executablePath === undefined) throw new Error('chromium is not installed (apt-get install chromium)');
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A person with a browser of their own. */
export interface Person extends AsyncDisposable {
  readonly name: string;
  readonly context: BrowserContext;
  readonly page: Page;
}

export async function newPerson(browser: Browser, name: string, options: BrowserContextOptions = {}): Promise<Person> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB', ...options });
  context.setDefaultTimeout(15_000);
  return { name, context, page: await context.newPage(), [Symbol.asyncDispose]: () => context.close() };
}

/** On the gateway's sign-in page: goes to the identity provider and signs in as `user`. */
export async function signIn(page: Page, user: string): Promise<void> {
  await page.getByRole('link', { name: 'Continue to sign-in' }).click();
  await page.locator(`button[name=user][value=${user}]`).click();
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
