/**
 * Every page on a narrow phone: no sideways scrolling in a language with mirrored order, with long words, or a third longer than English;
 * and targets that a finger hits.
 */
import { sharedBrowser } from '@postern/testkit/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { samplePages } from './samples/sample-pages.ts';
import { type PageServer, servePages } from './testing/page-server.ts';

/** The policy of pages refuses inline styles. */
const badPage =
  () => `<!doctype html><html lang="en"><title>x</title><img src="/assets/logo.svg" alt="" width="2000" height="9">
  <p><a href="/x">A link in a sentence</a> is no target.</p><p>.</p><p><a href="/x">Small</a></p><p>.</p></html>`;

let pageServer: PageServer;

beforeAll(async () => {
  pageServer = await servePages({ extraPages: { bad: badPage } });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

const locales = ['ar', 'de', 'en-XA'] as const;
const names = Object.keys(samplePages);
/** Targets are measured on the extreme pages in every language, and on each other page in one of them. */
const areTargetsMeasured = (locale: (typeof locales)[number], name: string) =>
  name.endsWith('-extreme') || names.indexOf(name) % locales.length === locales.indexOf(locale);
const widths = [320, 390];

const sidewaysSource = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth';

/**
 * Targets that do not react within 21 pixels of their middle, up, down and to both sides (WCAG 2.2, 2.5.5: 44 by 44). A link in a
 * sentence is none: its line decides on its height, as it does for the long claim below the heading, which opens to all of its lines. A
 * label is part of the target of its input, and a neighbour may begin before.
 */
const smallTargetsSource = `(() => {
  const selector = 'a[href], button, summary, select, textarea, input:not([type=hidden])';
  const isInSentence = link => link.closest('.party') !== null || link.localName === 'a' && getComputedStyle(link).display === 'inline'
    && [...link.parentElement.childNodes].some(node => node !== link && node.textContent.trim() !== '');
  const targets = [...document.querySelectorAll(selector)].filter(target => target.checkVisibility() && !isInSentence(target));
  return targets.flatMap(target => {
    const area = target.closest('label') ?? target;
    area.scrollIntoView({ block: 'center' });
    const { left, right, top, bottom } = area.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const misses = [[x, y - 21], [x, y + 21], [x - 21, y], [x + 21, y]].filter(([at, below]) => {
      const hit = document.elementFromPoint(at, below);
      return hit !== null && !area.contains(hit) && hit.closest(selector + ', label') === null;
    });
    return misses.length === 0 ? [] : [area.outerHTML.slice(0, 90)];
  });
})()`;

async function withPage(use: (page: Page) => Promise<void>): Promise<void> {
  const context = await (await sharedBrowser()).newContext({ viewport: { width: 390, height: 844 } });
  try {
    await use(await context.newPage());
  } finally {
    await context.close();
  }
}

/** The pixels by which the page is wider than its window, by the width of the window. */
async function sidewaysOn(page: Page): Promise<Record<number, number>> {
  const excess: Record<number, number> = {};
  for (const width of widths) {
    await page.setViewportSize({ width, height: 844 });
    excess[width] = await page.evaluate<number>(sidewaysSource);
  }
  return excess;
}

test.each(locales)(
  'no page scrolls sideways, and every target is large enough, in %s',
  { timeout: 300_000 },
  async locale => {
    await withPage(async page => {
      const faults: unknown[] = [];
      for (const name of names) {
        await page.goto(pageServer.page(name, locale));
        const excess = await sidewaysOn(page);
        if (Object.values(excess).some(pixels => pixels > 0)) faults.push({ name, excess });
        if (!areTargetsMeasured(locale, name)) continue;
        const small = await page.evaluate<string[]>(smallTargetsSource);
        if (small.length > 0) faults.push({ name, small });
      }
      expect(faults).toEqual([]);
    });
  },
);

test('the checks find the faults of a bad page', async () => {
  await withPage(async page => {
    await page.goto(pageServer.page('bad'));
    expect(Object.values(await sidewaysOn(page)).every(pixels => pixels > 0)).toBe(true);
    expect(await page.evaluate<string[]>(smallTargetsSource)).toHaveLength(1);
  });
});
