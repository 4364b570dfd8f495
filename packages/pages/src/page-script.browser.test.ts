/** The script in a browser. What each page does without it is tested beside the page. */
import { sharedBrowser } from '@postern/testkit/chromium';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { locales } from './languages/languages.ts';
import { formPage } from './pages/form-page.ts';
import { type PageServer, servePages } from './testing/page-server.ts';
import { sampleForm } from './testing/sample-entry-views.ts';
import { sampleConnect } from './testing/sample-views.ts';

const moment = { name: 'when', label: 'When', required: true, control: 'text', format: 'date-time' } as const;

let pageServer: PageServer;

beforeAll(async () => {
  pageServer = await servePages({
    extraPages: {
      moment: context => formPage(context, { ...sampleForm, form: { fields: [moment] } }),
      'moment-answered': context =>
        formPage(context, {
          ...sampleForm,
          form: { fields: [{ ...moment, value: ['2026-03-04T14:30', '+05:45'] }] },
        }),
    },
  });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

async function withPage<Result>(use: (page: Page) => Promise<Result>, options: BrowserContextOptions = {}) {
  const context = await (await sharedBrowser()).newContext(options);
  try {
    return await use(await context.newPage());
  } finally {
    await context.close();
  }
}

const timesOf = (page: Page) =>
  page.evaluate<string[]>(
    "[...document.querySelectorAll('time')].map(time => time.textContent.replaceAll(/\\s/g, ' '))",
  );

describe('times', () => {
  const pages = ['connect', 'connect-reconnect', 'me', 'receipt', 'form-answered'];

  test.each(locales)('are written as the gateway writes them, in %s', async locale => {
    for (const name of pages) {
      const read = async (page: Page) => {
        await page.goto(pageServer.page(name, locale));
        return timesOf(page);
      };
      const without = await withPage(read, { javaScriptEnabled: false });
      expect({ name, times: await withPage(read, { timezoneId: 'UTC' }) }).toEqual({ name, times: without });
    }
  });

  test('are in the time zone of the browser, in the language of the page', async () => {
    const options = { timezoneId: 'Asia/Tokyo', locale: 'fr-FR' };
    expect(
      await withPage(async page => {
        await page.goto(pageServer.page('connect'));
        return timesOf(page);
      }, options),
    ).toEqual(['11:32 PM GMT+9']);
  });
});

test('the time left counts down with the clock of the device, even if that is wrong', async () => {
  await withPage(async page => {
    await page.clock.install({ time: new Date('2001-01-01T00:00:00Z') });
    await page.clock.pauseAt(new Date('2001-01-01T00:01:00Z'));
    await page.goto(pageServer.page('connect'));
    const left = () => page.locator('[data-left]').textContent();
    expect(await left()).toBe('in 10 minutes');
    await page.clock.runFor(4 * 60_000);
    expect(await left()).toBe('in 6 minutes');
    await page.clock.runFor(5 * 60_000 + 15_000);
    expect(await left()).toBe('in 45 seconds');
    await page.clock.runFor(60_000);
    expect(await left()).toBe('in 0 seconds');
  });
  expect((sampleConnect.expiresAt.getTime() - (sampleConnect.now?.getTime() ?? 0)) / 60_000).toBe(10);
});

describe('a form', () => {
  const decline = 'form[action$="/decline"] button';
  const accept = 'form[action$="/accept"] button';

  test('is sent once, and no other form with it, until the page is shown again or 10 seconds have passed', async () => {
    await withPage(async page => {
      await page.clock.install();
      await page.goto(pageServer.page('connect'));
      const before = pageServer.received.length;
      const posts = () => pageServer.received.slice(before).filter(({ method }) => method === 'POST');
      const isBusy = () => page.locator(accept).getAttribute('aria-busy');
      const sent = page.waitForResponse(response => response.request().method() === 'POST');
      // In one task, as two clicks before the browser has navigated.
      await page.evaluate(
        `for (const button of ['${accept}', '${accept}', '${decline}']) document.querySelector(button).click()`,
      );
      await sent;
      expect(posts().map(({ path }) => path)).toEqual(['/e/0a.sample/accept']);
      expect(await isBusy()).toBe('true');

      await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
      expect(await isBusy()).toBeNull();
      await page.click(accept);
      await expect.poll(() => posts().length).toBe(2);
      await page.click(accept);
      await page.clock.runFor(10_000);
      expect(await isBusy()).toBeNull();
      await page.click(decline);
      await expect
        .poll(() => posts().map(({ path }) => path))
        .toEqual(['/e/0a.sample/accept', '/e/0a.sample/accept', '/e/0a.sample/decline']);
    });
  });
});

describe('the time zone of a local time', () => {
  const zone = (page: Page) => page.locator('select').inputValue();
  const options = { timezoneId: 'Europe/Berlin' };

  test('is that of the browser at the chosen time, unless the user chooses another', async () => {
    await withPage(async page => {
      await page.clock.setFixedTime(new Date('2026-01-10T12:00:00Z'));
      await page.goto(pageServer.page('moment'));
      expect(await zone(page)).toBe('+01:00');
      await page.fill('#field-when', '2026-07-01T08:00');
      expect(await zone(page)).toBe('+02:00');
      await page.selectOption('select', '-03:30');
      await page.fill('#field-when', '2026-01-01T08:00');
      expect(await zone(page)).toBe('-03:30');
    }, options);
  });

  test('is UTC without the script, and stays what the user chose before', async () => {
    await withPage(
      async page => {
        await page.goto(pageServer.page('moment'));
        expect(await zone(page)).toBe('Z');
      },
      { ...options, javaScriptEnabled: false },
    );
    await withPage(async page => {
      await page.goto(pageServer.page('moment-answered'));
      expect(await zone(page)).toBe('+05:45');
    }, options);
  });
});
