import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FormFieldView } from './field-views.ts';
import { formPage } from './pages/form-page.ts';
import { sampleForm } from './samples/sample-form-views.ts';
import { type PageServer, servePages } from './testing/page-server.ts';

const options = ['a', 'b ', ' c', 'd"<&>\u00e9', '\u{1f469}\u200d\u{1f469}', '日本語'].map((value, index) => ({
  value,
  title: `Option ${index}`,
}));
const base = { label: 'Question', required: false } as const;

/** An answer for every kind of field, with characters that a careless page would lose. */
const answered: readonly FormFieldView[] = [
  { ...base, name: 'line', control: 'text', value: ` "a" <b> & 'c' \u00e9\u{1f44d}日本 ` },
  { ...base, name: 'lines', control: 'text', maxLength: 4000, value: '\nfirst\n\n  third </textarea>\n' },
  { ...base, name: 'mail', control: 'text', format: 'email', value: 'ada@northwind.example' },
  { ...base, name: 'page', control: 'text', format: 'uri', value: 'https://example.com/a?b=c&d#e' },
  { ...base, name: 'day', control: 'text', format: 'date', value: '2024-02-29' },
  { ...base, name: 'moment', control: 'text', format: 'date-time', value: ['2026-03-04T14:30:15.250', '+05:45'] },
  { ...base, name: 'oddMoment', control: 'text', format: 'date-time', value: ['2026-03-04T14:30', '-23:59'] },
  { ...base, name: 'number', control: 'number', value: '-0.125' },
  { ...base, name: 'integer', control: 'integer', minimum: 0, value: '9007199254740991' },
  { ...base, name: 'yes', control: 'boolean', value: true },
  { ...base, name: 'no', control: 'boolean', value: false },
  { ...base, name: 'radio', control: 'select', options: options.slice(0, 5), value: 'd"<&>\u00e9' },
  { ...base, name: 'list', control: 'select', options, value: 'b ' },
  { ...base, name: 'none', control: 'select', options: options.slice(0, 2) },
  { ...base, name: 'several', control: 'multi-select', options, values: [' c', '日本語'] },
];

let browser: Browser;
let pageServer: PageServer;

beforeAll(async () => {
  browser = await sharedBrowser();
  pageServer = await servePages({
    extraPages: { answered: context => formPage(context, { ...sampleForm, form: { fields: answered } }) },
  });
});

afterAll(async () => {
  await pageServer[Symbol.asyncDispose]();
});

async function withPage<Result>(
  use: (page: Page) => Promise<Result>,
  options: BrowserContextOptions = {},
): Promise<Result> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options });
  try {
    return await use(await context.newPage());
  } finally {
    await context.close();
  }
}

/** The body of the last POST. */
async function posted(page: Page, act: () => Promise<unknown>) {
  const answer = page.waitForResponse(response => response.request().method() === 'POST');
  await act();
  await answer;
  const sent = pageServer.received.findLast(({ method }) => method === 'POST');
  return {
    path: sent?.path,
    fields: [...new URLSearchParams(sent?.body)].filter(([name]) => name.startsWith('field.')),
  };
}

test('every answer in a form is sent unchanged', async () => {
  const { path, fields } = await withPage(async page => {
    await page.goto(pageServer.page('answered'));
    return posted(page, () => page.click('form[action$="/accept"] button'));
  });
  expect(path).toBe('/e/0a.sample/accept');
  expect(fields).toEqual([
    ['field.line', ` "a" <b> & 'c' \u00e9\u{1f44d}日本 `],
    // Forms send every line break as CR LF (HTML, "constructing the entry list").
    ['field.lines', '\r\nfirst\r\n\r\n  third </textarea>\r\n'],
    ['field.mail', 'ada@northwind.example'],
    ['field.page', 'https://example.com/a?b=c&d#e'],
    ['field.day', '2024-02-29'],
    ['field.moment', '2026-03-04T14:30:15.25'],
    ['field.moment', '+05:45'],
    ['field.oddMoment', '2026-03-04T14:30'],
    ['field.oddMoment', '-23:59'],
    ['field.number', '-0.125'],
    ['field.integer', '9007199254740991'],
    ['field.yes', 'true'],
    ['field.radio', 'd"<&>\u00e9'],
    ['field.list', 'b '],
    ['field.none', ''],
    ['field.several', ' c'],
    ['field.several', '日本語'],
  ]);
});

inFull.it('declining sends no answer', async () => {
  const sent = await withPage(async page => {
    await page.goto(pageServer.page('answered'));
    return posted(page, () => page.click('form[action$="/decline"] button'));
  });
  expect(sent).toEqual({ path: '/e/0a.sample/decline', fields: [] });
});

describe('a secret', () => {
  test('is typed, and Enter submits it with the accepting form', async () => {
    const sent = await withPage(async page => {
      await page.goto(pageServer.page('credential'));
      await page.fill('#field-key', ' pass "word" ');
      return posted(page, () => page.press('#field-key', 'Enter'));
    });
    expect(sent).toEqual({ path: '/e/0a.sample/accept', fields: [['field.key', ' pass "word" ']] });
  });

  inFull.it('of several lines keeps its line breaks when pasted, and is masked', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n';
    const sent = await withPage(async page => {
      await page.goto(pageServer.page('credential-multiline'));
      expect(
        await page.evaluate<string>("getComputedStyle(document.querySelector('#field-privateKey')).webkitTextSecurity"),
      ).toBe('disc');
      await page.fill('#field-keyId', '1');
      await page.focus('#field-privateKey');
      await page.keyboard.insertText(key);
      return posted(page, () => page.click('form[action$="/accept"] button'));
    });
    expect(sent.fields).toEqual([
      ['field.keyId', '1'],
      ['field.privateKey', key.replaceAll('\n', '\r\n')],
    ]);
  });

  inFull.it('that is empty is not submitted, and the browser reports it', async () => {
    await withPage(async page => {
      await page.goto(pageServer.page('credential-basic'));
      const before = pageServer.received.length;
      await page.click('form[action$="/accept"] button');
      expect(await page.evaluate<string>('document.activeElement.id')).toBe('field-password');
      expect(pageServer.received).toHaveLength(before);
    });
  });

  inFull.it('does not prevent declining', async () => {
    const sent = await withPage(async page => {
      await page.goto(pageServer.page('credential-basic'));
      return posted(page, () => page.click('form[action$="/decline"] button'));
    });
    expect(sent).toEqual({ path: '/e/0a.sample/decline', fields: [] });
  });
});

test('the browser submits a form with faults, so the gateway can report them', async () => {
  const sent = await withPage(async page => {
    await page.goto(pageServer.page('form-faults'));
    return posted(page, () => page.click('form[action$="/accept"] button'));
  });
  expect(sent.fields).toContainEqual(['field.email', 'ada at northwind']);
});

test('by keyboard the summary leads to the field, and fields come before the buttons, the safe button first', async () => {
  await withPage(async page => {
    await page.goto(pageServer.page('credential-faults'));
    // The browser moves the focus some time after the page has loaded.
    await page.waitForFunction("document.activeElement.className === 'notice'");
    const stops: string[] = [];
    for (let stop = 0; stop < 8; stop += 1) {
      await page.keyboard.press('Tab');
      stops.push(
        await page.evaluate<string>(
          "(e => e.id || e.getAttribute('href') || e.closest('form')?.getAttribute('action') || e.tagName)(document.activeElement)",
        ),
      );
    }
    expect(stops).toEqual([
      '#field-username',
      '#field-password',
      'field-username',
      'field-password',
      '/logout',
      '/e/0a.sample/decline',
      '/e/0a.sample/accept',
      '/me/mcp-servers/issues',
    ]);
    await page.click('a[href="#field-password"]');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('field-password');
  });
});
