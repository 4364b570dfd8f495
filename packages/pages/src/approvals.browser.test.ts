import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import { isShortRun } from '@postern/testkit/run-size';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { locales } from './languages/languages.ts';
import { confirmationPage } from './pages/confirmation-page.ts';
import { paymentPage } from './pages/payment-page.ts';
import { sampleConfirmationView, samplePayment, samplePaymentView } from './samples/sample-approval-views.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { type PageServer, servePages } from './testing/page-server.ts';
import type { PageContext } from './views.ts';

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
          confirmation: {
            title: text,
            action: text,
            danger: 'caution',
            facts: [{ label: text, type: 'text', value: text }],
          },
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

test('the receipt of an ordinary payment or confirmation fits one sheet of paper, in every language', async () => {
  await withPage({ colorScheme: 'dark' }, async page => {
    for (const locale of isShortRun ? (['de'] as const) : locales)
      for (const name of ['receipt-of-payment', 'receipt-of-confirmation', 'receipt-paid'])
        for (const format of ['A4', 'Letter']) {
          await page.goto(pageServer.page(name, locale));
          const pdf = (await page.pdf({ format })).toString('latin1');
          expect(pdf.match(/\/Type \/Page\b/g), `${name} in ${locale} on ${format}`).toHaveLength(1);
        }
  });
});

inFull.it('a printed receipt has neither links nor buttons', async () => {
  await withPage({}, async page => {
    for (const name of ['receipt-of-payment', 'receipt-of-confirmation', 'receipt-paid', 'confirmed']) {
      await page.goto(pageServer.page(name));
      await page.emulateMedia({ media: 'print' });
      const shown = page.locator('a, button').filter({ visible: true });
      expect(await shown.count(), name).toBe(0);
      expect(await page.locator('.facts').first().isVisible()).toBe(true);
    }
  });
});

test('a receipt is printed black on white, with its facts and without buttons', async () => {
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
    for (const hidden of ['.actions', '.foot', '.sign', '.fine', '.languages']) {
      expect(await page.locator(hidden).isVisible()).toBe(false);
    }
    for (const shown of ['h1', '.sum', '.items', '.receipt-number', 'time']) {
      expect(await page.locator(shown).isVisible()).toBe(true);
    }
  });
});

test('hostile text is shown verbatim in its place and creates no elements', async () => {
  await withPage({}, async page => {
    const dialogs: string[] = [];
    page.on('dialog', async dialog => {
      dialogs.push(dialog.message());
      await dialog.dismiss();
    });
    const read = async (name: string, places: readonly string[]) => {
      await page.goto(pageServer.page(name));
      return page.evaluate<{ texts: string[]; elements: number }>(`({
        texts: ${JSON.stringify(places)}.map(place => document.querySelector(place).textContent),
        elements: document.querySelectorAll('*').length,
      })`);
    };
    const payee = '.bill .fact:first-child dd';
    const reference = '.bill > .fact:last-child dd';
    const { elements: paymentElements } = await read('payment-hostile-0', []);
    const { elements: confirmationElements } = await read('confirmation-hostile-0', []);
    for (const [index, text] of hostileStrings.entries()) {
      // The short run shows each text on one of three pages: two here, one in pages.browser.test.ts.
      if (!isShortRun || index % 3 === 1)
        expect(await read(`payment-hostile-${index}`, [payee, reference])).toEqual({
          texts: [text, text],
          elements: paymentElements,
        });
      const places = ['.statement-title', '.statement dt', '.statement dd', '.decision .accent bdi'];
      if (!isShortRun || index % 3 === 2)
        expect(await read(`confirmation-hostile-${index}`, places)).toEqual({
          texts: [text, text, text, text],
          elements: confirmationElements,
        });
    }
    expect(dialogs).toEqual([]);
  });
});
