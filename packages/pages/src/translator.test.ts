import { describe, expect, test } from 'vitest';
import { ownText } from './html.ts';
import { en } from './messages/en.ts';
import { zhHans } from './messages/zh-hans.ts';
import { hostileStrings } from './testing/hostile-strings.ts';
import { translatorFor } from './translator.ts';

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(match => match[1]).toSorted();
const entries = Object.entries(en) as [keyof typeof en, string][];

describe('every locale', () => {
  test('has the same texts with the same placeholders', () => {
    expect(Object.keys(zhHans)).toEqual(Object.keys(en));
    for (const [key, text] of entries) expect([key, placeholders(zhHans[key])]).toEqual([key, placeholders(text)]);
  });

  test('has no exclamation marks and no jargon', () => {
    for (const messages of [en, zhHans]) {
      for (const text of Object.values(messages)) {
        expect(text).not.toMatch(/[!！]/);
        expect(text).not.toMatch(/oauth|\bmcp\b|elicit|token|scope|callback|csrf|授权码|令牌|回调/i);
        expect(text).not.toMatch(/^\s|\s$|\s{2}/);
      }
    }
  });

  test('the Chinese texts contain Chinese characters', () => {
    for (const text of Object.values(zhHans)) {
      expect(text).toMatch(/\p{Script=Han}/u);
      expect(text.replace(/\{\w+\}/g, '')).not.toMatch(/[A-Za-z]|[,.?;:]/);
    }
  });
});

describe('values', () => {
  const t = translatorFor('en');

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
