/** What a page with a decision shows before its user scrolls. */
import type { Page } from 'playwright-core';
import type { Locale } from '../languages/languages.ts';
import { samplePages } from '../samples/sample-pages.ts';

const windows = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
] as const;
/** A laptop at 200 % zoom. */
const zoomed = { width: 640, height: 400 };

/** Sample pages with a decision: two buttons in an action bar. */
export const decisionPages: readonly string[] = Object.entries(samplePages)
  .filter(([, render]) => {
    const markup = render({ locale: 'en', branding: { name: 'x' }, stylesheetPath: '/x.css' });
    return markup.includes('class="actions decision"');
  })
  .map(([name]) => name);

/** The longest words, the longest sentences, the mirrored order, and a script without spaces. */
export const otherLocales = ['de', 'fr', 'ar', 'ja'] as const satisfies readonly Locale[];

/** In each other language the extreme pages, and every fourth of the rest, so that each is shown in one of them. */
export const decisionPagesIn = (locale: (typeof otherLocales)[number]): readonly string[] =>
  decisionPages.filter(
    (name, index) => name.endsWith('-extreme') || index % otherLocales.length === otherLocales.indexOf(locale),
  );

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

/** The buttons of the decision that are not in view. */
const buttonsOutOfViewSource = `[...document.querySelectorAll('.decision .button')]
  .filter(button => button.getBoundingClientRect().bottom > innerHeight).length`;

export interface FirstView {
  readonly width: number;
  readonly scrolled: number;
  readonly buttons: number;
  readonly hidden: readonly string[];
}

/** The first views of the page that was loaded and not touched yet. Changes the size of its window. */
export async function firstViewsOf(page: Page): Promise<readonly FirstView[]> {
  const views: FirstView[] = [];
  for (const size of windows) {
    await page.setViewportSize(size);
    views.push({ width: size.width, ...(await page.evaluate<Omit<FirstView, 'width'>>(hiddenSource)) });
  }
  return views;
}

/** What is wrong with these views of a decision. */
export const faultsOf = (views: readonly FirstView[]): readonly FirstView[] =>
  views.filter(({ scrolled, buttons, hidden }) => scrolled !== 0 || buttons === 0 || hidden.length > 0);

/** How many buttons of the decision a laptop at 200 % zoom does not show. Changes the size of the window. */
export async function buttonsOutOfView(page: Page): Promise<number> {
  await page.setViewportSize(zoomed);
  return await page.evaluate<number>(buttonsOutOfViewSource);
}
