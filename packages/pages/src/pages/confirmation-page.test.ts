import { describe, expect, test } from 'vitest';
import type { ConfirmationFactsView, FactView } from '../approval-views.ts';
import { expectOrder, textOf } from '../testing/page-assertions.ts';
import { sampleConfirmationView } from '../testing/sample-approval-views.ts';
import { sampleContext as en } from '../testing/sample-views.ts';
import { confirmationPage } from './confirmation-page.ts';
import { confirmedPage } from './confirmed-page.ts';

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
      'class="danger final"',
      'class="statement"',
      'class="statement-title" dir="auto"><bdi>Delete the folder',
      '<bdi>Folder</bdi>',
      'class="claim">As stated by',
      'id="message-heading"',
      '<bdi>K7-42</bdi>',
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

  test('shows the danger with words and an icon', () => {
    const lineOf = (danger: ConfirmationFactsView['danger']) =>
      /<p class="danger [^>]*>.*?<\/p>/.exec(
        confirmationPage(en, { ...sampleConfirmationView, confirmation: { title: 'x', facts: [], danger } }),
      )?.[0];
    expect(lineOf('normal')).toBeUndefined();
    const lines = [lineOf('caution'), lineOf('destructive')];
    for (const line of lines) expect(line).toMatch(/<svg class="icon".*<span>.+<\/span>/);
    expect(new Set(lines.map(line => line?.replace(/<bdi>.*?<\/bdi>|<p [^>]*>/g, '')))).toHaveProperty('size', 2);
  });

  test('replaces the button with a link to a fresh sign-in', () => {
    const markup = confirmationPage(en, { ...sampleConfirmationView, approval: signInAgain, notice: 'sign_in_again' });
    expect(markup).not.toContain('action="/e/0a.sample/accept"');
    expectOrder(markup, ['class="notice"', 'action="/e/0a.sample/decline"', 'class="button accent" href="/login?to=']);
  });

  test('the page after the confirmation repeats the facts, without the warning', () => {
    const { mcpServer, confirmation } = sampleConfirmationView;
    const markup = confirmedPage(en, { mcpServer, confirmation, approvedAt: new Date('2026-03-04T14:24:00Z') });
    expect(facts(markup)).toHaveLength(5);
    expect(markup).not.toContain('class="danger');
    expect(markup).toContain('datetime="2026-03-04T14:24:00.000Z">');
  });
});
