import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Width of the narrowest supported screen (WCAG 2.2, criterion 1.4.10). */
export const NARROW = { viewport: { width: 320, height: 640 } };

/** Returns elements that overflow a window of 320 px, and landmark errors. */
export async function layoutFaults(page: Page): Promise<string[]> {
  const sticking = await page
    .locator('body *')
    .evaluateAll(
      (elements, width) =>
        elements
          .filter(element => element.getBoundingClientRect().right > width && !element.closest('.unseen'))
          .map(element => `sticks out: ${element.outerHTML.slice(0, 120)}`),
      NARROW.viewport.width,
    );
  const scrolls = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
  const headings = await page.locator('main h1').count();
  return [
    ...sticking,
    ...(scrolls === true ? ['scrolls sideways'] : []),
    ...(headings === 1 ? [] : [`${headings} headings in main`]),
  ];
}

/** Rules of axe-core whose result depends on the colour scheme. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];

/**
 * Returns the findings of axe-core. The page's context must bypass the content security policy.
 * @param rules `colours` for another look of a page that was checked with all rules
 */
export async function axeFindings(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  await page.evaluate(axeSource);
  const options = JSON.stringify(rules === 'all' ? {} : { runOnly: rulesOfColours });
  return page.evaluate<string[]>(
    `axe.run(${options}).then(r => r.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
}
