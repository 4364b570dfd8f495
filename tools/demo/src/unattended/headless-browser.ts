import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { StoryError } from './report.ts';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser'];

/** Timeout of one click or page load, in milliseconds. */
const PATIENCE_MS = 20_000;

export async function launchHeadlessBrowser(): Promise<Browser> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin'];
  const candidates = [
    process.env['CHROMIUM_PATH'],
    ...NAMES.flatMap(name => folders.map(folder => join(folder, name))),
  ];
  const executablePath = candidates.find(path => path !== undefined && existsSync(path));
  if (executablePath === undefined) {
    const hint = 'Without --unattended, the demo needs only a browser of yours.';
    throw new StoryError(`Cannot find chromium. Install it, or set CHROMIUM_PATH. ${hint}`);
  }
  return await chromium.launch({
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

/** One tab of a person's browser. Finds buttons and fields by their text, as a person does. */
export class HeadlessPerson implements AsyncDisposable {
  readonly #context: BrowserContext;
  readonly #page: Page;
  readonly #close: () => Promise<void>;

  private constructor(context: BrowserContext, page: Page, close: () => Promise<void>) {
    this.#context = context;
    this.#page = page;
    this.#close = close;
  }

  /** Opens a tab in a browser context without cookies. */
  static async sitDown(browser: Browser): Promise<HeadlessPerson> {
    const context = await browser.newContext({ locale: 'en-GB' });
    context.setDefaultTimeout(PATIENCE_MS);
    return new HeadlessPerson(context, await context.newPage(), () => context.close());
  }

  /** Opens another tab of this browser. */
  async openTab(): Promise<HeadlessPerson> {
    const page = await this.#context.newPage();
    return new HeadlessPerson(this.#context, page, () => page.close());
  }

  /** Adds a virtual authenticator that stores passkeys and verifies its user (WebAuthn level 3, section 11). */
  async addPasskeyDevice(): Promise<void> {
    const devtools = await this.#context.newCDPSession(this.#page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
  }

  /** @returns the HTTP status of the page */
  async open(url: string): Promise<number> {
    return (await this.#page.goto(url))?.status() ?? 0;
  }

  async press(name: string | RegExp): Promise<void> {
    await this.#page.getByRole('button', { name }).click();
  }

  async follow(name: string | RegExp): Promise<void> {
    await this.#page.getByRole('link', { name }).click();
  }

  /** Opens the details of an entry of /me. */
  async unfold(text: string): Promise<void> {
    await this.#page.locator('summary', { hasText: text }).first().click();
  }

  /** Waits for a link with this name, or for a further one, and returns its address. */
  async linkTo(name: string, at = 0): Promise<string> {
    return (await this.#page.getByRole('link', { name }).nth(at).getAttribute('href')) ?? '';
  }

  async fill(label: string, value: string): Promise<void> {
    await this.#page.getByLabel(label, { exact: true }).fill(value);
  }

  /** Returns the text of the only element that matches this CSS selector. */
  async textOf(selector: string): Promise<string> {
    return (await this.#page.locator(selector).textContent())?.trim() ?? '';
  }

  /** Waits for a page with this heading. */
  async see(heading: string | RegExp): Promise<void> {
    await this.#page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }

  /** Waits for this text somewhere on the page. */
  async read(text: string | RegExp): Promise<void> {
    await this.#page.getByText(text).first().waitFor();
  }

  /** Returns the URL, the title and the markup of the page. */
  async everything(): Promise<string> {
    return `${this.#page.url()}\n${await this.#page.title()}\n${await this.#page.content()}`;
  }

  get host(): string {
    return new URL(this.#page.url()).host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
