/** `postern pages preview` as an operator runs it: with a configuration, without Redis, in a browser. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sharedBrowser } from '@postern/testkit/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTerminalProcess, type TerminalProcess } from '../support/terminal-process.ts';

const program = join(import.meta.dirname, '../../services/gateway/src/postern.ts');
const [accent, ofTracker, edited] = ['#1d4ed8', '#7c3aed', '#0b655c'];
const configOf = (branding: object, ofServer: object) => ({
  publicUrl: 'https://gate.example.com',
  redis: { url: 'redis://127.0.0.1:1' },
  vault: { keys: [{ kid: 'key-1', key: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64') }] },
  branding,
  identityProviders: [{ name: 'company', issuer: 'https://id.example.com', clientId: 'postern' }],
  mcpServers: [
    {
      id: 'tracker',
      name: 'Tracker & Co',
      url: 'https://tracker.example.com/mcp',
      ...ofServer,
      apiKeys: [{ hash: `sha256:${'0'.repeat(64)}` }],
      issuers: ['https://id.example.com'],
    },
  ],
});

const folder = mkdtempSync(join(tmpdir(), 'postern-preview-'));
const configPath = join(folder, 'postern.config.yaml');
const configure = (branding: object, ofServer: object = { branding: { accent: ofTracker } }) =>
  writeFileSync(configPath, JSON.stringify(configOf(branding, ofServer)));
const start = (...args: readonly string[]) => {
  const { POSTERN_CONFIG: _, ...env } = process.env;
  return startTerminalProcess([process.execPath, program, 'pages', 'preview', ...args], folder, env);
};
const styleOf = (page: Page, selector: string, member: string) =>
  page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${member}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the server', () => {
  let preview: TerminalProcess;
  let page: Page;
  let origin: string;
  const faults: string[] = [];

  beforeAll(async () => {
    configure({ name: 'Northwind', accent });
    preview = start();
    await preview.waitFor('Ctrl-C');
    origin = /http:\/\/127\.0\.0\.1:\d+/.exec(preview.printed())?.[0] ?? '';
    const browser = await sharedBrowser();
    page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(300_000);
    page.on('console', message => faults.push(`${page.url()}: ${message.text()}`));
    page.on('pageerror', error => faults.push(`${page.url()}: ${error.message}`));
    page.on('request', request => {
      if (!request.url().startsWith(origin)) faults.push(`${page.url()}: ${request.url()}`);
    });
    page.on('response', response => {
      if (response.status() >= 400) faults.push(`${response.url()}: ${response.status()}`);
    });
  });
  afterAll(async () => {
    await page?.context().close();
    await preview?.[Symbol.asyncDispose]();
  });

  const linksIn = (path: string) =>
    page.goto(`${origin}${path}`).then(() =>
      page
        .getByRole('main')
        .getByRole('link')
        .evaluateAll(links => links.map(link => link.href)),
    );
  const acting = () => page.locator('.decision .button.accent').first();
  const backgroundOf = (selector: string) => styleOf(page, selector, 'backgroundColor');
  const colourOf = () => backgroundOf('.decision .button.accent');
  const rgb = (hex: string) => `rgb(${[1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16)).join(', ')})`;

  test('every page of the index loads without an error, and the index lists each once', async () => {
    const links = (await linksIn('/')).filter(link => !link.endsWith('/index.html'));
    expect(links.length).toBeGreaterThan(120);
    expect(new Set(links).size).toBe(links.length);
    for (const [index, link] of links.entries()) {
      // The browser tests of the package load all of them. Here each must be served, and some of every family must work.
      if (index % 32 > 0) {
        expect([link, (await fetch(link)).status]).toEqual([link, 200]);
        continue;
      }
      await page.goto(link);
      expect(await page.locator('h1').count(), link).toBe(1);
      expect(await page.locator('.brand').textContent()).toContain('Northwind');
    }
    expect(faults).toEqual([]);
  });

  test('shows the chosen language and theme, and the branding of an MCP server on pages on which it asks', async () => {
    await page.goto(`${origin}/general/light/en/connect.html`);
    const [colour, ground] = [await colourOf(), await backgroundOf('.card')];
    expect(colour).toBe(rgb(accent));
    await page.goto(`${origin}/mcp-server-tracker/light/ar/connect.html`);
    expect([await colourOf(), await page.locator('html').getAttribute('dir')]).toEqual([rgb(ofTracker), 'rtl']);
    expect(await page.locator('.card').textContent()).toContain('Tracker & Co');
    expect(await page.locator('.card').textContent()).not.toContain('Issue Tracker');
    await page.goto(`${origin}/general/dark/en/connect.html`);
    expect(await backgroundOf('.card')).not.toBe(ground);
    expect(
      (await linksIn('/mcp-server-tracker/light/en/index.html')).filter(link => link.endsWith('/me.html')),
    ).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('forms and links of the gateway lead back to their page', async () => {
    const path = '/general/light/en/connect.html';
    await page.goto(`${origin}${path}`);
    await Promise.all([page.waitForEvent('load'), acting().click()]);
    expect(new URL(page.url()).pathname).toBe(path);
    await page.goto(`${origin}/general/light/en/disconnected.html`);
    const own = await page
      .locator('a')
      .evaluateAll((links, at) => links.map(link => link.href).filter(href => href.startsWith(at)), origin);
    expect(new Set(own)).toEqual(new Set([`${origin}/general/light/en/disconnected.html`]));
    expect(faults).toEqual([]);
  });

  test('a page that asks the gateway from time to time stays', async () => {
    await page.goto(`${origin}/general/light/en/device.html`);
    expect(await page.locator('[data-watch]').count()).toBe(1);
    expect(await page.locator('[data-check]').count()).toBe(0);
  });

  test('a page follows the edited configuration, and keeps its look while that has a fault', async () => {
    configure({ name: { en: 'Northwind', ja: 'ノースウィンド' }, accent: edited });
    await page.goto(`${origin}/general/light/en/connect.html`);
    expect(await colourOf()).toBe(rgb(edited));
    expect(await (await fetch(`${origin}/general/light/ja/connect.html`)).text()).toContain('ノースウィンド');
    configure({ name: 'Northwind', accent: 'no colour' });
    await page.reload();
    expect(await colourOf()).toBe(rgb(edited));
    await preview.waitFor('branding.accent');
    expect(faults).toEqual([]);
  });

  test.each(['/general/light/en/none.html', '/../postern.config.yaml', '/%2e%2e/postern.config.yaml', '/%ff', '//'])(
    'has nothing at %s',
    async path => {
      expect((await fetch(`${origin}${path}`)).status).toBe(404);
    },
  );
});

test('--out writes pages that open without a server, into a new folder only', async () => {
  // Without pages of its own for the MCP server: a third fewer.
  configure({ name: 'Northwind' }, {});
  const out = join(folder, 'written');
  await using writing = start('--out', 'written');
  await writing.waitFor('index.html');
  const browser = await sharedBrowser();
  await using context = await browser.newContext();
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', message => faults.push(message.text()));
  await page.goto(pathToFileURL(join(out, 'index.html')).href);
  await page.getByRole('link', { name: 'Payment', exact: true }).click();
  // The element may be there before the stylesheet.
  await page.waitForURL(/payment\.html$/);
  expect(await styleOf(page, '.decision .button', 'borderRadius')).not.toBe('0px');
  expect(faults).toEqual([]);
  expect(readFileSync(join(out, 'general/dark/de/connect.html'), 'utf8')).toContain('lang="de"');

  await using again = start('--out', 'written');
  await again.waitFor('EEXIST');
});

test('names the fault of a configuration and ends', async () => {
  configure({ name: 'Northwind', accent: 'no colour' });
  await using failing = start();
  await failing.waitFor('branding.accent');
  expect(failing.printed()).not.toContain('http://');
});
