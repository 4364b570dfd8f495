import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { StoryError } from './report.ts';

const CANDIDATES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** How long one click or one page may take, in milliseconds. */
const PATIENCE_MS = 20_000;

export async function launchHeadlessBrowser(): Promise<Browser> {
  const executablePath = CANDIDATES.find(path => path !== undefined && existsSync(path));
  if (executablePath === undefined) throw new StoryError('There is no chromium. Install it, or set CHROMIUM_PATH.');
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

/** One person's own browser: cookies of their own, one tab. Does what a person does, by what is written on the buttons. */
export class HeadlessPerson implements AsyncDisposable {
  readonly #context: BrowserContext;
  readonly #page: Page;

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.#page = page;
  }

  static async sitDown(browser: Browser): Promise<HeadlessPerson> {
    const context = await browser.newContext({ locale: 'en-GB' });
    context.setDefaultTimeout(PATIENCE_MS);
    return new HeadlessPerson(context, await context.newPage());
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

  /** Waits for a page with this heading. */
  async see(heading: string | RegExp): Promise<void> {
    await this.#page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }

  /** Waits for this text somewhere on the page. */
  async read(text: string): Promise<void> {
    await this.#page.getByText(text).first().waitFor();
  }

  /** The whole document as it stands, and the address. */
  async everything(): Promise<string> {
    return `${this.#page.url()}\n${await this.#page.title()}\n${await this.#page.content()}`;
  }

  get host(): string {
    return new URL(this.#page.url()).host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
