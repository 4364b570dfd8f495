/** Launches the chromium of this machine, once per process. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

/** The first opens and loads pages in half the processor time: it is chromium without its window. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

let shared: Promise<Browser> | undefined;

/**
 * Returns the browser that all test files of a worker share. Open and close a separate context in it. The browser ends with the
 * process.
 */
export async function sharedBrowser(): Promise<Browser> {
  shared ??= launch();
  const browser = await shared;
  if (browser.isConnected()) return browser;
  // A crash of chromium fails only the running tests: the next test gets a new browser.
  shared = launch();
  return shared;
}

function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      // Without these, chromium contacts servers of its vendor.
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** What the kinds of elements of a page are: what stylesheets select by, from the body to the element. */
const kindsSource = `[...new Set([...document.querySelectorAll('body *')].map(element => {
  const path = [];
  for (let each = element; each !== document.body; each = each.parentElement)
    path.push([each.localName, each.className, each.type, each.role, each.ariaInvalid, each.ariaCurrent, each.open].join());
  return path.join(' < ');
}))]`;

/** Whether the page has a kind of element that is not among those seen. Adds all of them to those. */
export async function hasNewElement(page: Page, seen: Set<string>): Promise<boolean> {
  const kinds = await page.evaluate<string[]>(kindsSource);
  const isNew = kinds.some(kind => !seen.has(kind));
  for (const kind of kinds) seen.add(kind);
  return isNew;
}

/** Whether this machine has a chromium. */
export const hasChromium = (): boolean => chromiumPath() !== undefined;

function findChromium(): string {
  const found = chromiumPath();
  if (found === undefined) throw new Error('chromium is not on the PATH: install it, or set CHROMIUM_PATH');
  return found;
}

function chromiumPath(): string | undefined {
  const named = process.env['CHROMIUM_PATH'];
  if (named !== undefined) return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return NAMES.flatMap(name => folders.map(folder => join(folder, name))).find(existsSync);
}
