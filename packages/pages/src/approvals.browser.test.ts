import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostileStrings } from './hostile-strings.ts';
import { type PageServer, servePages } from './page-server.ts';
import { confirmationPage } from './pages/confirmation-page.ts';
import { paymentPage } from './pages/payment-page.ts';
import { sampleApprovalPages } from './sample-approval-pages.ts';
import { sampleConfirmationView, samplePayment, samplePaymentView } from './sample-approval-views.ts';
import type { PageContext } from './views.ts';

const names = Object.keys(sampleApprovalPages);
const deciding = names.filter(name => !/^(?:receipt|confirmed|charge-processing)/.test(name));

const hostilePages = Object.fromEntries(
  hostileStrings.flatMap((text, index) => [
    [
      `payment-hostile-${index}`,
      (context: PageContext) =>
        paymentPage(context, {
          ...samplePaymentView,
          payment: { ...samplePayment, payeeName: text, reference: text },
        }),
    ],
    [
      `confirmation-hostile-${index}`,
      (context: PageContext) =>
        confirmationPage(context, {
          ...sampleConfirmationView,
          confirmation: { title: text, danger: 'caution', facts: [{ label: text, type: 'text', value: text }] },
        }),
    ],
  ]),
);

let browser: Browser;
let pageServer: PageServer;

beforeAll(async () => {
  browser = await sharedBrowser();
  pageServer = await servePages({ extraPages: hostilePages });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

async function withPage(options: BrowserContextOptions, use: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext(options);
  try {
    await use(await context.newPage());
  } finally {
    await context.close();
  }
}

interface Look {
  readonly width: number;
  readonly height: number;
  readonly type: string;
  readonly isFilled: boolean;
}

/** The size of every button of the decision, and what its weight is made of. */
const looksOf = (page: Page) =>
  page.evaluate<Look[]>(`[...document.querySelectorAll('.decision .button')].map(button => {
    const { width, height } = button.getBoundingClientRect();
    const { fontSize, fontWeight, fontFamily, borderRadius, borderWidth, opacity, backgroundColor } = getComputedStyle(button);
    const type = [fontSize, fontWeight, fontFamily, borderRadius, borderWidth, opacity].join();
    return { width, height, type, isFilled: backgroundColor !== 'rgba(0, 0, 0, 0)' };
  })`);

describe.each([320, 1280])('at %i px', width => {
  test('declining and approving weigh the same, and declining comes first', async () => {
    await withPage({ viewport: { width, height: 800 } }, async page => {
      for (const name of deciding) {
        await page.goto(pageServer.page(name));
        const looks = await looksOf(page);
        expect({ name, looks }).toEqual({ name, looks: [looks[1], looks[0]] });
        expect(looks[0]).toMatchObject({ isFilled: true });
        expect(looks[0]?.height).toBeGreaterThanOrEqual(44);
        const first = await page.evaluate<string>("document.querySelector('.decision form').getAttribute('action')");
        expect({ name, first }).toEqual({ name, first: '/e/0a.sample/decline' });
      }
    });
  });
});

test.each(['forced-colors', 'print', 'right-to-left'])(
  'nothing scrolls sideways: %s',
  { timeout: 60_000 },
  async look => {
    await withPage({ viewport: { width: 320, height: 700 } }, async page => {
      if (look === 'forced-colors') await page.emulateMedia({ forcedColors: 'active' });
      if (look === 'print') await page.emulateMedia({ media: 'print' });
      for (const name of names) {
        await page.goto(pageServer.page(name));
        if (look === 'right-to-left') await page.evaluate("document.documentElement.dir = 'rtl'");
        const overflow = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect({ name, overflow }).toEqual({ name, overflow: 0 });
      }
    });
  },
);

test('a receipt is printed black on white, with its facts and without what can be pressed', async () => {
  await withPage({ colorScheme: 'dark' }, async page => {
    await page.goto(pageServer.page('receipt-paid'));
    await page.emulateMedia({ media: 'print' });
    const colours = await page.evaluate<string[]>(`(() => {
      const texts = [...document.querySelectorAll('h1, dt, dd, th, td, .receipt p')].map(e => getComputedStyle(e).color);
      return [...new Set(texts)];
    })()`);
    expect(colours).toEqual(['rgb(0, 0, 0)']);
    const grounds = await page.evaluate<string[]>(
      "['html', 'body', '.card'].map(s => getComputedStyle(document.querySelector(s)).backgroundColor)",
    );
    expect(grounds).toEqual(['rgb(255, 255, 255)', 'rgba(0, 0, 0, 0)', 'rgb(255, 255, 255)']);
    for (const hidden of ['.actions', '.foot', '.sign', '.fine']) {
      expect(await page.locator(hidden).isVisible()).toBe(false);
    }
    for (const shown of ['h1', '.sum', '.items', '.receipt-number', 'time']) {
      expect(await page.locator(shown).isVisible()).toBe(true);
    }
  });
});

test('hostile text stands where it belongs as it is, and builds nothing', async () => {
  await withPage({}, async page => {
    const dialogs: string[] = [];
    page.on('dialog', async dialog => {
      dialogs.push(dialog.message());
      await dialog.dismiss();
    });
    const read = async (name: string, places: readonly string[]) => {
      await page.goto(pageServer.page(name));
      const texts = await Promise.all(places.map(place => page.locator(place).first().textContent()));
      return { texts, elements: await page.locator('*').count() };
    };
    const payee = '.bill .fact:first-child dd';
    const reference = '.bill > .fact:last-child dd';
    const { elements: paymentElements } = await read('payment-hostile-0', []);
    const { elements: confirmationElements } = await read('confirmation-hostile-0', []);
    for (const [index, text] of hostileStrings.entries()) {
      expect(await read(`payment-hostile-${index}`, [payee, reference])).toEqual({
        texts: [text, text],
        elements: paymentElements,
      });
      const places = ['.statement-title', '.statement dt', '.statement dd'];
      expect(await read(`confirmation-hostile-${index}`, places)).toEqual({
        texts: [text, text, text],
        elements: confirmationElements,
      });
    }
    expect(dialogs).toEqual([]);
  });
});
