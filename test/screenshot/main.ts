/**
 * `pnpm screenshot`: writes docs/screenshot-light.png and docs/screenshot-dark.png: the terminal host of the demo beside the page that its
 * user sees. Both are real; only the frames around them are drawn here.
 */
import { chmodSync, createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { choosePorts, startConstellation } from '@postern/demo';
import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser, Page } from 'playwright-core';
import { startTerminalProcess } from '../support/terminal-process.ts';

const docs = join(import.meta.dirname, '../../docs');
const PAGE = { width: 540, height: 860 };
/** Of both windows, in the picture. */
const HEIGHT = 613;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** The page and the terminal, each in a window. */
function composition(p: { terminal: string; page: string; url: string; scheme: 'light' | 'dark' }): string {
  const [back, bar, ink] = p.scheme === 'light' ? ['#eceff3', '#f8f9fb', '#3b4350'] : ['#0d1117', '#21262d', '#c9d1d9'];
  return `<!doctype html><meta charset="utf-8"><style>
    * { box-sizing: border-box } body { margin: 0; padding: 28px; background: ${back}; width: max-content; display: flex; gap: 28px; align-items: flex-start }
    figure { margin: 0; border-radius: 10px; overflow: hidden; box-shadow: 0 8px 28px rgb(0 0 0 / .25) }
    figcaption { font: 13px/34px system-ui, sans-serif; padding: 0 14px; color: ${ink}; background: ${bar}; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
    pre { margin: 0; padding: 16px; width: 640px; height: ${HEIGHT}px; font: 13px/1.5 "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; overflow: hidden; color: #e6edf3; background: #161b22 }
    img { display: block; height: ${HEIGHT}px }
  </style><figure><figcaption>terminal: npx @postern/demo host</figcaption><pre>${escaped(p.terminal)}</pre></figure>
  <figure><figcaption>${escaped(p.url)}</figcaption><img src="data:image/png;base64,${p.page}"></figure>`;
}

async function write(browser: Browser, scheme: 'light' | 'dark', terminal: string, page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  const shot = (await page.screenshot()).toString('base64');
  const url = page.url().replace(/(\/e\/.{12}).*/, '$1…');
  const context = await browser.newContext({ viewport: { width: 1300, height: 400 }, deviceScaleFactor: 1.5 });
  const frame = await context.newPage();
  await frame.setContent(composition({ terminal, page: shot, url, scheme }));
  await frame.locator('body').screenshot({ path: join(docs, `screenshot-${scheme}.png`) });
  await context.close();
}

/** A browser for the host, which writes the URL that it is to open to a file. */
function recordingBrowser(folder: string): { readonly path: string; next(): Promise<string> } {
  const record = join(folder, 'opened');
  const opener = join(folder, 'xdg-open');
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > '${record}.new' && mv '${record}.new' '${record}'\n`);
  chmodSync(opener, 0o755);
  return {
    path: folder,
    async next() {
      while (!existsSync(record)) await delay(50);
      const url = readFileSync(record, 'utf8');
      rmSync(record);
      return url;
    },
  };
}

await using stack = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'postern-screenshot-'));
stack.defer(() => rmSync(folder, { recursive: true }));
const log = createWriteStream(join(folder, 'gateway.log'));
const world = stack.use(await startConstellation({ ports: await choosePorts(), log }));
const browser = await sharedBrowser();
stack.defer(() => browser.close());
const context = await browser.newContext({ viewport: PAGE, deviceScaleFactor: 2, locale: 'en-GB' });
const page = await context.newPage();

const opened = recordingBrowser(folder);
const main = join(dirname(createRequire(import.meta.url).resolve('@postern/demo')), 'host/main.ts');
const host = stack.use(
  startTerminalProcess([process.execPath, main, '--url', world.mcpUrl], folder, {
    ...process.env,
    DISPLAY: ':0',
    PATH: `${opened.path}${delimiter}${process.env['PATH']}`,
  }),
);
await host.answer('Open it in your browser? y/n: ', 'y');
await page.goto(await opened.next());
await page.locator('button[name=user][value=alice]').click();
await page.getByRole('button', { name: 'Allow' }).click();
await host.answer('> ', '1');
await host.answer('c = cancel: ', 'y');
await page.goto(await opened.next());
// Alice is still signed in at the identity provider.
await page.getByRole('link', { name: 'Continue to sign-in' }).click();
await page.locator('form[action$="/accept"] button').waitFor();
// Without the sign-in at the MCP server.
const terminal = host.printed().replace(/^.*?(?=Connected to )/s, '');
for (const scheme of ['light', 'dark'] as const) await write(browser, scheme, terminal, page);
process.stdout.write(`Wrote docs/screenshot-light.png and docs/screenshot-dark.png\n`);
