import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import { isShortRun } from '@postern/testkit/run-size';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { locales } from './languages/languages.ts';
import { pageScript } from './page-script.ts';
import { connectPage } from './pages/connect-page.ts';
import { devicePage } from './pages/device-page.ts';
import { leavingPage } from './pages/leaving-page.ts';
import { samplePages } from './samples/sample-pages.ts';
import { sampleConnect, sampleDevice, sampleMcpServer, sampleMe } from './samples/sample-views.ts';
import { stylesheet } from './stylesheet.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { type PageServer, servePages } from './testing/page-server.ts';
import { sampleBranding } from './testing/sample-context.ts';

const branding = { ...sampleBranding, logo: { path: '/assets/logo.svg', width: 48, height: 48 } };
const hostilePages = Object.fromEntries(
  hostileStrings.map((message, index) => [
    `hostile-${index}`,
    (context: Parameters<typeof connectPage>[0]) =>
      connectPage(context, { ...sampleConnect, message, mcpServer: { ...sampleMcpServer, name: message } }),
  ]),
);
let browser: Browser;
let pageServer: PageServer;

beforeAll(async () => {
  browser = await sharedBrowser();
  pageServer = await servePages({ branding, extraPages: hostilePages });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

/** Runs `work` in a new tab and closes the tab afterwards, even after an error. */
async function withPage<Result>(options: BrowserContextOptions, use: (page: Page) => Promise<Result>): Promise<Result> {
  const context = await browser.newContext(options);
  try {
    return await use(await context.newPage());
  } finally {
    await context.close();
  }
}

/** Collects the violations of the content security policy that chromium reports. */
function watchViolations(page: Page): string[] {
  const violations: string[] = [];
  page.on('console', message => {
    if (/content security policy/i.test(message.text())) violations.push(message.text());
  });
  return violations;
}

describe('the connect page by keyboard, without JavaScript', () => {
  const keyboard = { viewport: { width: 320, height: 700 }, javaScriptEnabled: false };

  /** The focused element: its form action or link address, and whether the focus is visible. */
  const focused = (page: Page) =>
    page.evaluate<{ target: string; outline: string }>(`(() => {
      const element = document.activeElement;
      const target = element.closest('form')?.getAttribute('action') ?? element.getAttribute('href');
      return { target, outline: getComputedStyle(element).outlineStyle };
    })()`);

  test('reaches the safe button before the other one, with a visible focus', async () => {
    await withPage(keyboard, async page => {
      await page.goto(pageServer.page('connect'));
      const stops: unknown[] = [];
      for (let stop = 0; stop < 6; stop += 1) {
        await page.keyboard.press('Tab');
        stops.push(await focused(page));
      }
      expect(stops).toEqual([
        // The languages, which stay folded.
        { target: null, outline: 'solid' },
        { target: '/logout', outline: 'solid' },
        { target: '/e/0a.sample/decline', outline: 'solid' },
        { target: '/e/0a.sample/accept', outline: 'solid' },
        { target: '/me/mcp-servers/issues', outline: 'solid' },
        { target: 'https://help.northwind.example/', outline: 'solid' },
      ]);
    });
  });

  inFull.it('sends the decision with its token and a full origin', async () => {
    await withPage(keyboard, async page => {
      await page.goto(pageServer.page('connect'));
      for (let stop = 0; stop < 4; stop += 1) await page.keyboard.press('Tab');
      const answered = page.waitForResponse(response => response.request().method() === 'POST');
      await page.keyboard.press('Enter');
      await answered;
      const sent = pageServer.received.findLast(({ method }) => method === 'POST');
      expect(sent).toMatchObject({ method: 'POST', path: '/e/0a.sample/accept', body: 'csrf_token=csrf-value' });
      expect(sent?.headers).toMatchObject({ origin: pageServer.origin, 'sec-fetch-site': 'same-origin' });
    });
  });
});

describe('T25: from the decision to the provider, without JavaScript', () => {
  /** A provider whose sign-in is at another origin, as of a company: it redirects there. */
  async function startFederation() {
    const stack = new AsyncDisposableStack();
    const pages = { extraPages: { signin: () => '<!doctype html><title>sign-in</title>' } };
    const signIn = stack.use(await servePages(pages));
    const provider = createServer((_request, response) => {
      response.writeHead(302, { location: signIn.page('signin') }).end();
    });
    stack.defer(() => new Promise<void>(resolve => provider.close(() => resolve())));
    await new Promise<void>(resolve => provider.listen(0, '127.0.0.1', resolve));
    const address = provider.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const providerUrl = new URL(`http://localhost:${address.port}/authorize?state=a&b='c'`);
    const gateway = stack.use(
      await servePages({
        redirectTo: '/en/to-provider',
        extraPages: {
          'to-provider': context =>
            leavingPage(context, {
              mcpServer: sampleMcpServer,
              providerName: 'Provider',
              destinationHost: providerUrl.host,
              continueHref: providerUrl.href,
              backHref: '/en/connect',
            }),
        },
      }),
    );
    return { gateway, signIn, providerUrl, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test('one click leads through redirects across origins; going back shows the decision again', async () => {
    await using federation = await startFederation();
    const { gateway, signIn } = federation;
    await withPage({ javaScriptEnabled: false }, async page => {
      const violations = watchViolations(page);
      await page.goto(gateway.page('connect'));
      await page.click('form[action$="/accept"] button');
      await page.waitForURL(signIn.page('signin'));
      expect(violations).toEqual([]);
      await page.goBack();
      await page.waitForURL(gateway.page('connect'));
    });
    expect(gateway.received.map(({ method, path }) => `${method} ${path}`)).toContain('GET /en/to-provider');
    expect(signIn.received.find(({ path }) => path === '/en/signin')?.headers.referer).toBeUndefined();
  });

  inFull.it('the link leads there if the browser does not go on by itself', async () => {
    await using federation = await startFederation();
    const { gateway, signIn, providerUrl } = federation;
    await withPage({ javaScriptEnabled: false }, async page => {
      let isHeld = true;
      await page.route(
        url => isHeld && url.host === providerUrl.host,
        async route => {
          isHeld = false;
          await route.fulfill({ status: 204 });
        },
      );
      const held = page.waitForResponse(response => response.status() === 204);
      await page.goto(gateway.page('to-provider'));
      await held;
      await page.click('a.accent');
      await page.waitForURL(signIn.page('signin'));
    });
  });
});

describe('a code to enter elsewhere, without JavaScript', () => {
  test('is selected completely by one click', async () => {
    await withPage({ javaScriptEnabled: false }, async page => {
      await page.goto(pageServer.page('device'));
      await page.click('.user-code');
      expect(await page.evaluate<string>('getSelection().toString().trim()')).toBe(sampleDevice.userCode);
    });
  });

  inFull.it('opens the provider in another tab without opener or referrer', async () => {
    await using provider = await servePages({
      extraPages: { activate: () => '<!doctype html><title>provider</title>' },
    });
    const verificationHref = provider.page('activate').replace('127.0.0.1', 'localhost');
    await using gateway = await servePages({
      extraPages: { enter: context => devicePage(context, { ...sampleDevice, verificationHref }) },
    });
    await withPage({ javaScriptEnabled: false }, async page => {
      await page.goto(gateway.page('enter'));
      const [tab] = await Promise.all([page.context().waitForEvent('page'), page.click('.outside')]);
      await tab.waitForURL(verificationHref);
      expect(await tab.evaluate<boolean>('window.opener === null')).toBe(true);
      expect(page.url()).toBe(gateway.page('enter'));
    });
    expect(provider.received[0]).toMatchObject({ path: '/en/activate' });
    expect(provider.received[0]?.headers.referer).toBeUndefined();
  });
});

describe('the list of connections', () => {
  inFull.it('names every link by its entry', async () => {
    await withPage({ javaScriptEnabled: false }, async page => {
      await page.goto(pageServer.page('me'));
      for (const { providerName } of sampleMe.connections) {
        await page.locator('.row > summary', { hasText: providerName }).click();
        const link = page.getByRole('link', { name: `Disconnect ${providerName}`, exact: true });
        expect(await link.count()).toBe(1);
      }
    });
  });

  test('opens collapsed parts by keyboard, and prints them', async () => {
    await withPage({ javaScriptEnabled: false }, async page => {
      await page.goto(pageServer.page('me'));
      const folded = page.locator('.fold .scopes');
      expect(await folded.isVisible()).toBe(false);
      await page.emulateMedia({ media: 'print' });
      expect(await folded.isVisible()).toBe(true);
      await page.emulateMedia({ media: 'screen' });
      await page.focus('.row:has(.fold) > summary');
      await page.keyboard.press('Enter');
      expect(await folded.isVisible()).toBe(false);
      await page.focus('.fold summary');
      await page.keyboard.press('Enter');
      expect(await folded.isVisible()).toBe(true);
    });
  });
});

test('hostile text is shown verbatim and creates no elements', async () => {
  await withPage({}, async page => {
    const violations = watchViolations(page);
    const dialogs: string[] = [];
    page.on('dialog', async dialog => {
      dialogs.push(dialog.message());
      await dialog.dismiss();
    });
    const read = () =>
      page.evaluate<{ message: string; name: string; elements: number }>(`({
        message: document.querySelector('blockquote').textContent,
        name: document.querySelector('h1 bdi').textContent,
        elements: document.querySelectorAll('*').length,
      })`);
    await page.goto(pageServer.page('connect'));
    const { elements } = await read();
    for (const [index, text] of hostileStrings.entries()) {
      // The short run shows each text on one of three pages: one here, two in approvals.browser.test.ts.
      if (isShortRun && index % 3 !== 0) continue;
      await page.goto(pageServer.page(`hostile-${index}`));
      const folds = await page.locator('.whole').count();
      // A text that is cut has three elements more: `details`, `summary` and `span`.
      expect(await read()).toEqual({ message: text, name: text, elements: elements + 3 * folds });
    }
    expect(violations).toEqual([]);
    expect(dialogs).toEqual([]);
  });
});

test.each(locales)('page, stylesheet and script together are at most 14 KB compressed in %s', locale => {
  const sheet = stylesheet(branding);
  const context = { locale, branding, stylesheetPath: sheet.path };
  const assets = gzipSync(sheet.body).length + gzipSync(pageScript.body).length;
  for (const [name, render] of Object.entries(samplePages)) {
    const bytes = gzipSync(render(context)).length + assets;
    expect({ name, fits: bytes <= 14 * 1024 }).toEqual({ name, fits: true });
  }
});
