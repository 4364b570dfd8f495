import { describe, expect, test } from 'vitest';
import type { ArgumentView, ConfirmationFactsView, FactView } from '../approval-views.ts';
import type { ForeignText } from '../foreign-text.ts';
import { catalogueOf, locales } from '../languages/languages.ts';
import { sampleConfirmationView } from '../samples/sample-approval-views.ts';
import { hostileStrings } from '../testing/hostile-strings.ts';
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

describe('what is sent', () => {
  const sentIn = (markup: string) => /<section class="statement sent".*?<\/section>/s.exec(markup)?.[0] ?? '';
  const sent = (members: ConfirmationFactsView['arguments']) =>
    sentIn(
      confirmationPage(en, {
        ...sampleConfirmationView,
        confirmation: { title: 'x', danger: 'normal', facts: [], ...(members && { arguments: members }) },
      }),
    );
  const text = (...pieces: string[]) => ({ type: 'string', text: pieces }) as const;
  const number = (written: string) => ({ type: 'number', text: written }) as const;
  const named = (...values: ArgumentView[]) => values.map((value, at) => [[`n${at}`], value] as const);
  const folds = (markup: string) => markup.match(/<details/g)?.length ?? 0;

  test('is a section of its own, and absent without arguments', () => {
    expect(sent(undefined)).toBe('');
    expect(sent([])).toContain('<code dir="ltr">{ }</code>');
  });

  test('is shown by its type, in the order sent', () => {
    const markup = sent([
      [['b'], number('1.0')],
      [['a'], text('1.0')],
      [
        ['c'],
        { type: 'array', elements: [{ type: 'null', text: 'null' }, text('null'), { type: 'array', elements: [] }] },
      ],
      [[''], { type: 'object', members: [[['d'], { type: 'boolean', text: 'true' }]] }],
    ]);
    expectOrder(markup, [
      '<dt><bdi>b</bdi></dt><dd><code dir="ltr">1.0</code></dd>',
      '<dt><bdi>a</bdi></dt><dd><q dir="auto">1.0</q></dd>',
      '<ol><li><code dir="ltr">null</code></li><li><q dir="auto">null</q></li><li><code dir="ltr">[ ]</code></li></ol>',
      '<dt><q></q></dt><dd><dl><div><dt><bdi>d</bdi></dt><dd><code dir="ltr">true</code></dd></div></dl></dd>',
    ]);
  });

  test('shows code points in place of invisible characters, and explains them', () => {
    const markup = sent([[['n', '\u202e', ''], text('a', '\u{e0041}\u{e0042}', '\nb')]]);
    expect(markup).toContain('<bdi>n<span class="unseen-code" dir="ltr">U+202E</span></bdi>');
    expect(markup).toContain('<q dir="auto">a<span class="unseen-code" dir="ltr">U+E0041 U+E0042</span>\nb</q>');
    expect(markup).not.toMatch(/[\u202e\u{e0000}-\u{e007f}]/u);
    expect(markup.match(/<p class="claim">/g)).toHaveLength(1);
  });

  test('says that a value is hidden', () => {
    const markup = sent(named({ type: 'array', elements: [{ type: 'hidden' }] }));
    expect(markup).toContain('<li><span class="hidden-value">');
    expect(markup.match(/<p class="claim">/g)).toHaveLength(1);
    expect(sent(named(text('a')))).not.toContain('<p class="claim">');
  });

  test('folds long texts, values with many rows, and the rows beyond the first', () => {
    const list = (length: number): ArgumentView => ({ type: 'array', elements: Array(length).fill(number('1')) });
    expect(folds(sent(named(text('x'.repeat(300)), text('x\n'.repeat(11)))))).toBe(1);
    expect(folds(sent(named(text('x'.repeat(301)))))).toBe(1);
    expect(folds(sent(named(text('x\n'.repeat(12)))))).toBe(1);
    expect(folds(sent(named(list(12))))).toBe(0);
    expect(folds(sent(named(list(13), number('2'))))).toBe(1);
    expect(folds(sent(named(...Array(12).fill(number('1')))))).toBe(0);
    const rest = sent(named(...Array(20).fill(number('1'))));
    expect(folds(rest)).toBe(1);
    expect(rest.split('<details')[0]?.match(/<dt>/g)).toHaveLength(12);
  });

  test('contains every text whole, whatever folds', () => {
    /** Every hostile text as a name and as a value, in objects and lists of this many. */
    const nest = (texts: readonly string[], size: number): ArgumentView => {
      const inner = texts.slice(size).length === 0 ? number('-1e400') : nest(texts.slice(size), size);
      const members = texts.slice(0, size).map(one => [[one], text(one.repeat(3))] as const);
      return { type: 'object', members: [...members, [['more'], { type: 'array', elements: [inner, text('end')] }]] };
    };
    const textsIn = (one: ArgumentView): string[] => {
      if (one.type === 'object') return one.members.flatMap(([name, inner]) => [name.join(''), ...textsIn(inner)]);
      if (one.type === 'array') return one.elements.flatMap(textsIn);
      return one.type === 'hidden' ? [] : one.type === 'string' ? [...one.text] : [one.text];
    };
    const written = (texts: readonly string[]) => texts.filter(one => !['', 'n0'].includes(one));
    for (const size of [3, 12, 13, hostileStrings.length]) {
      const value = nest(hostileStrings, size);
      const shown = [...sent(named(value)).matchAll(/<(q|bdi|code)[^>]*>(.*?)<\/\1>/gs)].map(([, , inner = '']) =>
        inner.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))),
      );
      expect(written(shown)).toEqual(textsIn(value));
    }
  });
});
