/** The script in a browser. What each page does without it is tested beside the page. */
import { sharedBrowser } from '@postern/testkit/chromium';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { locales } from './languages/languages.ts';
import { connectPage } from './pages/connect-page.ts';
import { devicePage } from './pages/device-page.ts';
import { formPage } from './pages/form-page.ts';
import { sampleForm } from './samples/sample-form-views.ts';
import { sampleConnect, sampleDevice } from './samples/sample-views.ts';
import { type PageServer, servePages } from './testing/page-server.ts';

const moment = { name: 'when', label: 'When', required: true, control: 'text', format: 'date-time' } as const;

const watch = { statusHref: '/en/status', pageHref: '/en/done', phase: 'decision' };
/** Changed by a test, as if the request had ended elsewhere. */
let phase = 'decision';
let pageServer: PageServer;

beforeAll(async () => {
  pageServer = await servePages({
    extraPages: {
      status: () => JSON.stringify({ phase }),
      watched: context => connectPage(context, { ...sampleConnect, watch }),
      'watched-form': context => formPage(context, { ...sampleForm, watch }),
      'watched-unknown': context =>
        connectPage(context, { ...sampleConnect, watch: { ...watch, statusHref: '/en/no' } }),
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

/** The times in the page as the gateway sends it. */
async function sentTimes(url: string): Promise<string[]> {
  const page = await (await fetch(url)).text();
  return [...page.matchAll(/<time[^>]*>([^<]*)<\/time>/g)].map(([, text = '']) => text.replaceAll(/\s/g, ' '));
}

const timesOf = (page: Page) =>
  page.evaluate<string[]>(
    "[...document.querySelectorAll('time')].map(time => time.textContent.replaceAll(/\\s/g, ' '))",
  );

describe('times', () => {
  const pages = ['connect', 'connect-reconnect', 'me', 'receipt', 'form-answered'];

  test.each(locales)('are written as the gateway writes them, in %s', async locale => {
    const sent: string[] = [];
    const shown: string[] = [];
    await withPage(
      async page => {
        for (const name of pages) {
          const url = pageServer.page(name, locale);
          await page.goto(url);
          sent.push(name, ...(await sentTimes(url)));
          shown.push(name, ...(await timesOf(page)));
        }
      },
      { timezoneId: 'UTC' },
    );
    expect(sent.length).toBeGreaterThan(pages.length);
    expect(shown).toEqual(sent);
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

describe('the time zone of the pages', () => {
  const written = async (cookie: string | undefined) => {
    const context = await (await sharedBrowser()).newContext({ timezoneId: 'Asia/Tokyo' });
    try {
      if (cookie !== undefined)
        await context.addCookies([{ name: 'postern_view', value: cookie, url: pageServer.origin }]);
      await (await context.newPage()).goto(pageServer.page('connect'));
      const cookies = await context.cookies();
      return cookies.map(({ name, value, path, sameSite }) => ({ name, value, path, sameSite }));
    } finally {
      await context.close();
    }
  };

  test.each([
    ['no cookie', undefined, 'tz=Asia%2FTokyo'],
    ['a language', 'lang=de', 'lang=de&tz=Asia%2FTokyo'],
    ['another zone', 'lang=de&tz=Europe%2FBerlin', 'lang=de&tz=Asia%2FTokyo'],
    ['anything else', 'x&tz=1', 'tz=Asia%2FTokyo'],
  ])('is kept for the next page: %s', async (_case, before, after) => {
    expect(await written(before)).toEqual([{ name: 'postern_view', value: after, path: '/', sameSite: 'Lax' }]);
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

const announced = (page: Page) => page.locator('[data-watch]').textContent();

/** Requests of the script since the last call. */
function requests(path: string): () => number {
  const from = pageServer.received.length;
  return () => pageServer.received.slice(from).filter(request => request.path === path).length;
}

/** Opens a page whose timers the test controls. */
async function openStopped(page: Page, name: string): Promise<void> {
  phase = 'decision';
  await page.clock.install({ time: new Date('2026-03-04T14:00:00Z') });
  await page.clock.pauseAt(new Date('2026-03-04T14:01:00Z'));
  // The network is not stopped: a request must not time out because the test lets an hour pass.
  await page.addInitScript('AbortSignal.timeout = () => new AbortController().signal');
  await page.goto(pageServer.page(name));
}

/** Lets half a minute pass, again and again, until the script has asked at least that often: it can ask twice in half a minute. */
async function untilAsked(page: Page, asked: () => number, times: number): Promise<void> {
  const ask = async () => {
    await page.clock.runFor(30_000);
    return asked();
  };
  await expect.poll(ask, { interval: 5 }).toBeGreaterThanOrEqual(times);
}

describe('S114: a page that is out of date', () => {
  test('leads to the current one by itself', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched');
      await untilAsked(page, requests('/en/status'), 1);
      expect(page.url()).toBe(pageServer.page('watched'));
      phase = 'completed';
      await expect
        .poll(async () => {
          await page.clock.runFor(30_000);
          return page.url();
        })
        .toBe(pageServer.page('done'));
    });
  });

  test('keeps what the user has typed, and says that the request has ended', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched-form');
      await page.locator('input[type=text]').first().fill('typed');
      phase = 'declined';
      await page.clock.runFor(2000);
      await expect.poll(() => announced(page)).toContain('This request has ended.');
      expect(await page.locator('input[type=text]').first().inputValue()).toBe('typed');
      await page.locator('[data-watch] a').click();
      await page.waitForURL(pageServer.page('done'));
    });
  });

  test('asks less and less often, at most 120 times', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched');
      const asked = requests('/en/status');
      await page.clock.runFor(1900);
      expect(asked()).toBe(0);
      await untilAsked(page, asked, 120);
      await page.clock.runFor(3_600_000);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      expect(asked()).toBe(120);
    });
  });

  test('asks nothing while it is hidden, and at once when it is shown again', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched');
      const asked = requests('/en/status');
      const setHidden = (isHidden: boolean) =>
        page.evaluate(
          `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });` +
            "document.dispatchEvent(new Event('visibilitychange'))",
        );
      await setHidden(true);
      await page.clock.runFor(600_000);
      expect(asked()).toBe(0);
      await setHidden(false);
      await expect.poll(asked).toBe(1);
    });
  });

  test('asks once if the gateway tells this browser nothing', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched-unknown');
      const asked = requests('/en/no');
      await untilAsked(page, asked, 1);
      await page.clock.runFor(600_000);
      // This request would arrive after a second one of the script.
      await page.evaluate("fetch('/en/done')");
      expect(asked()).toBe(1);
      expect(page.url()).toBe(pageServer.page('watched-unknown'));
    });
  });

  test('announces the last minute and the end of the time', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched-unknown');
      await page.clock.runFor(9 * 60_000);
      expect(await announced(page)).toBe('');
      await page.clock.runFor(2000);
      expect(await announced(page)).toMatch(/ends in 5\d seconds/);
      await page.clock.runFor(60_000);
      expect(await announced(page)).toContain('The time is up.');
    });
  });

  test('has no button to press once the time is up, and then leads to the current page', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched');
      const buttons = page.locator('.decision :is(button, a.button)');
      await page.clock.runFor(599_000);
      expect(await buttons.count()).toBe(2);
      await page.clock.runFor(1000);
      expect(await buttons.count()).toBe(0);
      expect(await page.locator('.decision [data-watch]').isVisible()).toBe(true);
      expect(page.url()).toBe(pageServer.page('watched'));
      phase = 'expired';
      await expect
        .poll(async () => {
          await page.clock.runFor(3000);
          return page.url();
        })
        .toBe(pageServer.page('done'));
    });
  });

  test('sends nothing that is typed after the time', async () => {
    await withPage(async page => {
      await openStopped(page, 'watched-form');
      await page.clock.runFor(601_000);
      const from = pageServer.received.length;
      const field = page.locator('input[type=text]').first();
      await field.fill('late');
      await field.press('Enter');
      expect(pageServer.received.slice(from).filter(({ method }) => method === 'POST')).toEqual([]);
      expect(await field.inputValue()).toBe('late');
      expect(await page.locator('[data-watch] a').isVisible()).toBe(true);
    });
  });

  test('a device code: the script presses the button until it leads to another page', async () => {
    await using gateway = await servePages({
      redirectTo: '/en/done',
      extraPages: { code: context => devicePage(context, { ...sampleDevice, watch }) },
    });
    await withPage(async page => {
      await page.goto(gateway.page('code'));
      await page.waitForURL(gateway.page('done'));
    });
    expect(gateway.received.find(({ method }) => method === 'POST')).toMatchObject({
      path: '/e/0a.sample/device',
      body: 'csrf_token=csrf-value',
      headers: { origin: gateway.origin, 'sec-fetch-site': 'same-origin' },
    });
  });
});

describe('a secret', () => {
  const type = (page: Page) => page.locator('#field-key').getAttribute('type');
  const masked = (page: Page) => page.locator('#field-privateKey.masked').isVisible();

  test('is shown for ten seconds, and is a secret again before it is sent', async () => {
    await withPage(async page => {
      await page.clock.install();
      await page.goto(pageServer.page('credential'));
      await page.fill('#field-key', 'sk_1');
      const show = page.getByRole('button', { name: 'Show API key' });
      const hide = page.getByRole('button', { name: 'Hide API key' });
      await show.click();
      expect([await type(page), await hide.isVisible(), await show.count()]).toEqual(['text', true, 0]);
      await page.clock.runFor(10_000);
      expect([await type(page), await show.isVisible(), await hide.count()]).toEqual(['password', true, 0]);
      await show.click();
      await hide.click();
      expect(await type(page)).toBe('password');
      await show.click();
      const answered = page.waitForResponse(response => response.request().method() === 'POST');
      await page.press('#field-key', 'Enter');
      await answered;
      expect(await type(page)).toBe('password');
    });
  });

  test('of several lines too', async () => {
    await withPage(async page => {
      await page.goto(pageServer.page('credential-multiline'));
      expect(await masked(page)).toBe(true);
      await page.locator('[data-show=field-privateKey]').click();
      expect(await masked(page)).toBe(false);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      expect(await masked(page)).toBe(true);
    });
  });

  test('has no button without the script', async () => {
    await withPage(
      async page => {
        await page.goto(pageServer.page('credential'));
        expect(await page.locator('[data-show]').isVisible()).toBe(false);
      },
      { javaScriptEnabled: false },
    );
  });
});

describe('a code', () => {
  const button = 'button[data-copy]';

  test('is copied, which the page announces', async () => {
    await withPage(
      async page => {
        await page.goto(pageServer.page('device'));
        await page.click(button);
        await expect.poll(() => page.locator('.copyable [role=status]').textContent()).toBe('Copied');
        expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(sampleDevice.userCode);
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
  });

  test('is selected if the browser refuses', async () => {
    await withPage(async page => {
      await page.goto(pageServer.page('device'));
      await page.evaluate("navigator.clipboard.writeText = async () => { throw new Error('refused'); }");
      await page.click(button);
      await expect.poll(() => page.evaluate<string>('getSelection().toString().trim()')).toBe(sampleDevice.userCode);
    });
  });

  test('has no button without the script', async () => {
    await withPage(
      async page => {
        await page.goto(pageServer.page('device'));
        expect(await page.locator(button).isVisible()).toBe(false);
      },
      { javaScriptEnabled: false },
    );
  });
});

test.each([true, false])('the summary of faults has the focus, with script: %s', async javaScriptEnabled => {
  await withPage(
    async page => {
      await page.goto(pageServer.page('form-faults'));
      await expect.poll(() => page.evaluate<string>('document.activeElement.className')).toBe('notice');
    },
    { javaScriptEnabled },
  );
});
