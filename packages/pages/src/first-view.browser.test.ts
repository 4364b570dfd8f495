/** Every page with a decision shows what the decision needs without scrolling, with names of any length. */
import { sharedBrowser } from '@postern/testkit/chromium';
import { isShortRun } from '@postern/testkit/run-size';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samplePages } from './samples/sample-pages.ts';
import { type PageServer, servePages } from './testing/page-server.ts';

const windows = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
] as const;
/** The longest words, the longest sentences, the mirrored order, and a script without spaces. */
const others = ['de', 'fr', 'ar', 'ja'] as const;
const shown = isShortRun ? (['en'] as const) : (['en', ...others] as const);

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

/**
 * The parts of a page that its user needs before deciding: who asks, for which account, the code, the amount or the risk with
 * its counts, and the buttons. A list of permissions without counts must show its headings.
 */
const parts = ['h1', '.asker-host', '.person', '.code', '.user-code', '.price', '.glance', '.unnamed', '.toward'];

/** Reports the needed parts that are outside of the window or below something else. */
const hiddenSource = `(() => {
  const selectors = ${JSON.stringify(parts)};
  const headings = document.querySelector('.glance') === null ? ['.risk h2'] : [];
  const buttons = [...document.querySelectorAll('.decision .button')].filter(button => button.checkVisibility());
  const needed = [...[...selectors, ...headings].flatMap(s => [...document.querySelectorAll('main ' + s)]), ...buttons];
  // An inline element has a rectangle for each line.
  const isSeen = element => [...element.getClientRects()].every(rect => isShown(element, rect)) && element.checkVisibility();
  const isShown = (element, { left, right, top, bottom }) => {
    if (top < 0 || left < 0 || bottom > innerHeight || right > innerWidth || bottom - top < 1) return false;
    const points = [left + 3, (left + right) / 2, right - 3].flatMap(x => [top + 3, (top + bottom) / 2, bottom - 3].map(y => [x, y]));
    return points.every(([x, y]) => {
      const shown = document.elementFromPoint(x, y);
      return shown !== null && (element.contains(shown) || shown.contains(element));
    });
  };
  return {
    scrolled: scrollY,
    buttons: buttons.length,
    hidden: needed.filter(element => !isSeen(element)).map(element => element.className || element.localName),
  };
})()`;

interface FirstView {
  readonly scrolled: number;
  readonly buttons: number;
  readonly hidden: readonly string[];
}

async function firstViews(page: Page, url: string): Promise<readonly FirstView[]> {
  const views: FirstView[] = [];
  await page.goto(url);
  for (const size of windows) {
    await page.setViewportSize(size);
    views.push(await page.evaluate<FirstView>(hiddenSource));
  }
  return views;
}

/** Pages with a decision: two buttons in an action bar. */
const decisions = Object.entries(samplePages)
  .filter(([, render]) => {
    const markup = render({ locale: 'en', branding: { name: 'x' }, stylesheetPath: '/x.css' });
    return markup.includes('class="actions decision"');
  })
  .map(([name]) => name);

/** All pages in English. In each other language the extreme ones, and every fourth of the rest, so that each is shown in one of them. */
const decisionsIn = (locale: (typeof shown)[number]) =>
  decisions.filter(
    (name, index) => locale === 'en' || name.endsWith('-extreme') || index % others.length === others.indexOf(locale),
  );

describe.each(shown)('in %s', locale => {
  test('pages with a decision show what it needs at 390×844 and 1280×800', { timeout: 300_000 }, async () => {
    expect(decisions.length).toBeGreaterThan(60);
    const context = await (await sharedBrowser()).newContext();
    try {
      const page = await context.newPage();
      const faults: unknown[] = [];
      for (const name of decisionsIn(locale)) {
        const views = await firstViews(page, pageServer.page(name, locale));
        for (const [index, { scrolled, buttons, hidden }] of views.entries())
          if (scrolled !== 0 || buttons === 0 || hidden.length > 0)
            faults.push({ name, width: windows[index]?.width, scrolled, buttons, hidden });
      }
      expect(faults).toEqual([]);
    } finally {
      await context.close();
    }
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

test('at 200 % zoom of a laptop, the buttons of every decision are in view', async () => {
  await withPage(640, 400, async page => {
    const faults: string[] = [];
    for (const name of decisionsIn('en')) {
      await page.goto(pageServer.page(name));
      const isInView = await page.evaluate(
        `[...document.querySelectorAll('.decision .button')].every(button => button.getBoundingClientRect().bottom <= innerHeight)`,
      );
      if (isInView !== true) faults.push(name);
    }
    expect(faults).toEqual([]);
  });
});

test.each([
  [390, 664],
  [640, 400],
])('the link of a mistake leads to its field with label and message in view, at %i by %i', async (width, height) => {
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

test.each([320, 390])('a code is on one line, at a width of %i', async width => {
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
  const context = await (await sharedBrowser()).newContext();
  try {
    const views = await firstViews(await context.newPage(), pageServer.page('covered'));
    for (const { hidden } of views) expect(hidden).toEqual(['price']);
  } finally {
    await context.close();
  }
});
