import { describe, expect, test } from 'vitest';
import type { ConfirmationFactsView, FactView } from '../approval-views.ts';
import type { ForeignText } from '../foreign-text.ts';
import { catalogueOf, locales } from '../languages/languages.ts';
import { sampleConfirmationView } from '../samples/sample-approval-views.ts';
import { expectOrder, textOf } from '../testing/page-assertions.ts';
import { sampleContext as en } from '../testing/sample-context.ts';
import { confirmationPage } from './confirmation-page.ts';
import { confirmedPage } from './confirmed-page.ts';
import { receiptPage } from './receipt-page.ts';

const signInAgain = { signInAgainHref: '/login?to=0a.sample' };

describe('the confirmation page', () => {
  const facts = (markup: string) =>
    [
      ...(/<section class="statement".*?<\/section>/s.exec(markup)?.[0] ?? '').matchAll(
        /<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g,
      ),
    ].map(match => match.slice(1).map(textOf));
  const withFact = (fact: FactView) =>
    confirmationPage(en, {
      ...sampleConfirmationView,
      confirmation: { title: 'x', danger: 'normal', facts: [fact] },
    });

  test('keeps the reading order and names the author of the statement', () => {
    expectOrder(confirmationPage(en, sampleConfirmationView), [
      '<h1><bdi>File Store</bdi>',
      '<bdi>K7-42</bdi>',
      'class="statement"',
      'class="statement-title" dir="auto"><bdi>Delete the folder',
      '<bdi>Folder</bdi>',
      'class="claim">As stated by',
      '<blockquote',
      'action="/e/0a.sample/decline"',
      'action="/e/0a.sample/accept"',
    ]);
  });

  test('renders every type of fact', () => {
    expect(facts(confirmationPage(en, sampleConfirmationView))).toEqual([
      ['Folder', 'Finance / Archive / Invoices 2019'],
      ['Files', '1,284'],
      ['Storage fee saved per year', '€18.75'],
      ['Last change', 'January 3, 2020 at 5:05 PM GMT+1'],
      ['Kept on', 'files.northwind.example'],
    ]);
  });

  test.each([
    [0, '0'],
    [-0, '0'],
    [-1284.5, '-1,284.5'],
    [0.1 + 0.2, '0.30000000000000004'],
    [Number.MAX_SAFE_INTEGER, '9,007,199,254,740,991'],
    [5e-324, '5E-324'],
    [1.7976931348623157e308, '1.7976931348623157E308'],
  ])('a number keeps every digit: %d', (value, text) => {
    expect(facts(withFact({ label: 'n', type: 'number', value }))).toEqual([['n', text]]);
  });

  test.each([
    ['2020-01-03T17:05:00Z', 'January 3, 2020 at 5:05 PM UTC'],
    ['2020-01-03T17:05:00-00:00', 'January 3, 2020 at 5:05 PM UTC'],
    ['2020-01-03T23:59:07+05:45', 'January 3, 2020 at 11:59:07 PM GMT+5:45'],
    ['2020-01-03T00:00:00.000-11:59', 'January 3, 2020 at 12:00 AM GMT-11:59'],
  ])('a time keeps its own offset: %s', (value, text) => {
    expect(facts(withFact({ label: 'at', type: 'time', value }))).toEqual([['at', text]]);
  });

  test.each<FactView>([
    { label: 'x', type: 'number', value: Number.NaN },
    { label: 'x', type: 'time', value: '2020-01-03' },
    { label: 'x', type: 'time', value: '2020-13-03T00:00:00Z' },
    { label: 'x', type: 'time', value: '2020-01-03T00:00:00' },
    { label: 'x', type: 'host', value: 'аррӏе.com' },
    { label: 'x', type: 'amount', value: { currency: 'EUR', minorUnits: 0.5, decimals: 2 } },
  ])('a value that does not match its type is refused: %j', fact => {
    expect(() => withFact(fact)).toThrow(TypeError);
  });

  test('shows the danger in the heading, with an icon, and on the button', () => {
    const partsOf = (danger: ConfirmationFactsView['danger']) => {
      const confirmation = { title: 'x', facts: [], danger };
      const markup = confirmationPage(en, { ...sampleConfirmationView, confirmation });
      return [
        /<div class="head(.*?)"/.exec(markup)?.[1],
        /<h1>(.*?)<\/h1>/.exec(markup)?.[1],
        /<span class="mark icon-mark.*?<\/span>/.exec(markup)?.[0],
        /<form [^>]*\/accept".*?<button class="(.*?)"/.exec(markup)?.[1],
      ];
    };
    const all = (['normal', 'caution', 'destructive'] as const).map(partsOf);
    for (const part of [1, 2]) expect(new Set(all.map(parts => parts[part]))).toHaveProperty('size', 3);
    expect(all.map(([head]) => head?.trim().split(' ').at(-1))).toEqual(['', 'tone-caution', 'tone-danger']);
    expect(all.map(parts => parts[3])).toEqual(['button accent', 'button accent', 'button danger']);
  });

  test('the words of the MCP server become neither heading nor button', () => {
    const confirmation = { ...sampleConfirmationView.confirmation, title: 'Approved by your bank' };
    const markup = confirmationPage(en, { ...sampleConfirmationView, confirmation });
    expect(markup.match(/Approved by your bank/g)).toHaveLength(1);
    expect(markup).toContain('class="statement-title" dir="auto"><bdi>Approved by your bank');
  });

  test.each<[ForeignText, string]>([
    ['Decline', '<bdi>Decline</bdi>'],
    [{ de: 'Löschen' }, '<bdi lang="de" dir="auto">Löschen</bdi>'],
    ['</span>', '<bdi>&#60;/span&#62;</bdi>'],
  ])('S187: the button has our verb before the action %j, and so has the receipt', (action, shown) => {
    const { mcpServer } = sampleConfirmationView;
    const confirmation = { ...sampleConfirmationView.confirmation, action };
    const page = confirmationPage(en, { ...sampleConfirmationView, confirmation });
    expectOrder(page, [
      'action="/e/0a.sample/decline"',
      '<span>Decline</span></button>',
      'action="/e/0a.sample/accept"',
      `<button class="button danger" type="submit"><span>Confirm: ${shown}</span></button>`,
    ]);
    const receipt = receiptPage(en, {
      kind: 'confirmation',
      mcpServer,
      confirmation,
      method: 'button',
      receiptNumber: '0a',
      approvedAt: new Date(0),
      downloadHref: '/e/0a.sample/receipt.json',
      historyHref: '/me/history',
    });
    expect(receipt).toContain(`<span class="detail">Confirm: ${shown}</span>`);
  });

  test.each(locales)('S187: the verb of the button is before the action in %s', locale => {
    const { 'confirmation.accept': verb, 'confirmation.acceptAction': label } = catalogueOf(locale);
    expect(String(label).split(/\s?[:：] ?/)).toEqual([verb, '{action}']);
  });

  test('replaces the button with a link to a fresh sign-in', () => {
    const markup = confirmationPage(en, { ...sampleConfirmationView, approval: signInAgain, notice: 'sign_in_again' });
    expect(markup).not.toContain('action="/e/0a.sample/accept"');
    expectOrder(markup, ['class="notice"', 'action="/e/0a.sample/decline"', 'class="button accent" href="/login?to=']);
  });

  test('the page after the confirmation repeats the facts, without the warning', () => {
    const { mcpServer, confirmation } = sampleConfirmationView;
    const markup = confirmedPage(en, {
      mcpServer,
      confirmation,
      receiptHref: '/e/0a.sample/receipt',
      approvedAt: new Date('2026-03-04T14:24:00Z'),
    });
    expect(facts(markup)).toHaveLength(5);
    expect(markup).not.toContain('tone-danger');
    expect(markup).toContain('datetime="2026-03-04T14:24:00.000Z">');
  });
});
