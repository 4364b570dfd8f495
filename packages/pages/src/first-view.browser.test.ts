/** Every page with a decision shows what the decision needs without scrolling, with names of any length. */
import { sharedBrowser } from '@postern/testkit/chromium';
import { isShortRun, sampled } from '@postern/testkit/run-size';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decisionPages, decisionPagesIn, faultsOf, firstViewsOf, otherLocales } from './testing/first-view.ts';
import { type PageServer, servePages } from './testing/page-server.ts';

let pageServer: PageServer;

const coveredPage = () => `<!doctype html><html lang="en"><title>x</title><link rel="stylesheet" href="/x.css">
<body><main class="card"><div class="head"><h1>Above</h1></div><div class="match"><strong class="code">K7</strong></div>
<div class="bar"><div class="decision"><button class="button">No</button><button class="button">Yes</button></div></div>
<img src="/assets/logo.svg" width="2000" height="2000" alt=""><p class="price">Below</p></main></body></html>`;

beforeAll(async () => {
  pageServer = await servePages({ extraPages: { covered: coveredPage } });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

test('the sample pages have decisions', () => {
  expect(decisionPages.length).toBeGreaterThan(60);
});

// In English, every-page.slow.test.ts looks at the first views of each page that it loads.
describe.each(isShortRun ? [] : otherLocales)('in %s', locale => {
  test('pages with a decision show what it needs at 390×844 and 1280×800', { timeout: 300_000 }, async () => {
    await withPage(1280, 720, async page => {
      const faults: unknown[] = [];
      for (const name of decisionPagesIn(locale)) {
        await page.goto(pageServer.page(name, locale));
        faults.push(...faultsOf(await firstViewsOf(page)).map(fault => ({ name, ...fault })));
      }
      expect(faults).toEqual([]);
    });
  });
});

async function withPage(width: number, height: number, use: (page: Page) => Promise<void>): Promise<void> {
  const context = await (await sharedBrowser()).newContext({ viewport: { width, height } });
  try {
    await use(await context.newPage());
  } finally {
    await context.close();
  }
}

test('the bar stays in view while a list scrolls, below 480 px of height only its buttons, below 240 px nothing', async () => {
  await withPage(390, 844, async page => {
    await page.goto(pageServer.page('connect'));
    const inView: unknown[] = [];
    for (const height of [844, 481, 479, 241, 239]) {
      await page.setViewportSize({ width: 390, height });
      inView.push([
        height,
        ...(await page.evaluate<boolean[]>(
          `['.person', '.decision .button'].map(part => document.querySelector(part).getBoundingClientRect().bottom <= innerHeight)`,
        )),
      ]);
    }
    expect(inView).toEqual([
      [844, true, true],
      [481, true, true],
      [479, false, true],
      [241, false, true],
      [239, false, false],
    ]);
  });
});

test.each(
  sampled(
    [
      [390, 664],
      [640, 400],
    ] as const,
    2,
  ),
)('the link of a mistake leads to its field with label and message in view, at %i by %i', async (width, height) => {
  await withPage(width, height, async page => {
    for (const name of ['form-faults', 'credential-faults']) {
      await page.goto(pageServer.page(name));
      const links = page.locator('.faults a');
      const count = await links.count();
      expect(count).toBeGreaterThan(0);
      for (let nth = 0; nth < count; nth += 1) {
        await links.nth(nth).click();
        const hidden = await page.evaluate(`(() => {
          const field = document.querySelector(':target').closest('.field');
          const bar = document.querySelector('.decision').getBoundingClientRect().top;
          return ['label, legend', '.field-fault'].filter(part => {
            const { top, bottom } = field.querySelector(part).getBoundingClientRect();
            return top < 0 || bottom > bar;
          });
        })()`);
        expect([name, nth, hidden]).toEqual([name, nth, []]);
      }
    }
  });
});

test.each(sampled([320, 390], 2))('a code is on one line, at a width of %i', async width => {
  await withPage(width, 800, async page => {
    for (const name of ['connect', 'device', 'receipt-paid', 'connect-misconfigured', 'error-internal', 'me-all']) {
      await page.goto(pageServer.page(name));
      const broken = await page.evaluate(`[...document.querySelectorAll('code, .code')].filter(code => {
        const range = document.createRange();
        range.selectNodeContents(code);
        return new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top))).size > 1;
      }).map(code => code.textContent)`);
      expect([name, broken]).toEqual([name, []]);
    }
  });
});

test('the check finds parts outside of the window', async () => {
  await withPage(1280, 720, async page => {
    await page.goto(pageServer.page('covered'));
    const views = await firstViewsOf(page);
    expect(faultsOf(views)).toEqual(views);
    for (const { hidden } of views) expect(hidden).toEqual(['price']);
  });
});
