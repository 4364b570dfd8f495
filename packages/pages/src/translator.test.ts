import { describe, expect, test } from 'vitest';
import { ownText } from './html.ts';
import { wordingOf } from './languages/message.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { translatorFor } from './translator.ts';

const t = translatorFor({ locale: 'en' });

describe('values', () => {
  test.each(hostileStrings)('stay values: %j', hostile => {
    const markup = `${t.html('connect.heading', { mcpServer: hostile, provider: 'GitHub' })}`;
    expect(markup.match(/</g)).toHaveLength(4);
    expect(markup.endsWith('</bdi> wants to use your <bdi>GitHub</bdi> account')).toBe(true);
    expect(t.plain('connect.heading', { mcpServer: hostile, provider: 'GitHub' })).toBe(
      `\u2068${hostile}\u2069 wants to use your \u2068GitHub\u2069 account`,
    );
  });

  test('of our own are not isolated', () => {
    expect(`${t.html('next.return', { mcpServer: ownText('X & Y') })}`).toBe('Go back to X &#38; Y');
  });

  test('throws for a missing value', () => {
    const noValues = {} as { mcpServer: string };
    expect(() => t.html('next.return', noValues)).toThrow(TypeError);
    expect(() => t.plain('next.return', Object.create({ mcpServer: 'inherited' }) as { mcpServer: string })).toThrow(
      TypeError,
    );
  });
});

describe('a plural text', () => {
  test.each([
    [1, '1 permission'],
    [0, '0 permissions'],
    [12, '12 permissions'],
    [1200, '1,200 permissions'],
  ])('is worded for %d', (count, text) => {
    expect(t.plain('scope.count', { count })).toBe(text);
    expect(`${t.html('scope.count', { count })}`).toBe(text);
  });

  test('throws for a value that is not a number', () => {
    expect(() => t.plain('scope.count', { count: '2' as unknown as number })).toThrow(TypeError);
  });

  test('uses the categories of its language', () => {
    const few = { plural: 'n', one: 'one', two: 'two', few: 'few', many: 'many', zero: 'zero', other: 'other' };
    const arabic = new Intl.PluralRules('ar');
    const worded = [0, 1, 2, 3, 11, 100].map(n => wordingOf(few, { n }, arabic));
    expect(worded).toEqual(['zero', 'one', 'two', 'few', 'many', 'other']);
  });
});

describe('a text with options', () => {
  test('is worded for the option', () => {
    expect(t.plain('receipt.method', { method: 'passkey' })).toBe('A passkey');
  });

  test.each(['select', 'toString', 'none', ''])('throws for an option without wording: %j', method => {
    expect(() => t.plain('receipt.method', { method: method as 'passkey' })).toThrow(TypeError);
  });
});
