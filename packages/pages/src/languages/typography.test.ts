import { expect, test } from 'vitest';
import { catalogueOf, type Locale, loadLanguage, locales, scopesOf } from './languages.ts';
import type { Message } from './message.ts';

await Promise.all(locales.map(loadLanguage));

const wordingsOf = (message: Message): readonly string[] =>
  typeof message === 'string'
    ? [message]
    : Object.entries(message).flatMap(([name, text]) => (name === 'plural' || name === 'select' ? [] : [String(text)]));

/** Every text of a language, and what its presets' scopes allow. */
const textsOf = (locale: Locale): readonly string[] => [
  ...Object.values<Message>(catalogueOf(locale)).flatMap(wordingsOf),
  ...Object.values(scopesOf(locale)).flatMap(texts => Object.values(texts)),
];

const withoutPlaceholders = (text: string) => text.replaceAll(/\{\w+\}/g, '');

test.each(locales)('quotation marks and apostrophes are typographic, and dots no ellipsis, in %s', locale => {
  expect(textsOf(locale).filter(text => /["'`´]|\.\.\./.test(text))).toEqual([]);
});

/** What a language never writes, tested without the placeholders. */
const faults: readonly (readonly [Locale, string, RegExp])[] = [
  ['de', 'quotation marks other than „…“', /[”«»]|“[^“]*“(?![^„]*$)|„[^“]*$/],
  ['fr', 'a colon without a no-break space before it', /[^\u00a0]:/],
  ['fr', 'a semicolon or question mark without a narrow no-break space before it', /[^\u202f][;?]/],
  ['fr', 'quotation marks without no-break spaces inside', /«[^\u00a0]|[^\u00a0]»|[“”„]/],
  ['es', 'a question without ¿', /^[^¿]*\?/],
  ['es', 'quotation marks other than «…»', /[“”„]/],
  ['ja', 'punctuation of Latin scripts', /[,.;?!“”]/],
  ['ar', 'punctuation of Latin scripts', /[,;?“”]/],
  ['zh-Hans', 'punctuation of Latin scripts', /[,.;:?!「」]/],
  ['zh-Hant', 'punctuation of Latin scripts', /[,.;:?!“”]/],
];

test.each(faults)('%s never has %s', (locale, _, fault) => {
  expect(textsOf(locale).filter(text => fault.test(withoutPlaceholders(text)))).toEqual([]);
});

const cjk = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}';

test.each(['ja', 'zh-Hans', 'zh-Hant'] as const)(
  'a space separates Latin letters from other letters, in %s',
  locale => {
    const touching = new RegExp(`[A-Za-z][${cjk}]|[${cjk}][A-Za-z]`, 'u');
    expect(textsOf(locale).filter(text => touching.test(withoutPlaceholders(text)))).toEqual([]);
  },
);

test.each(['ja', 'zh-Hans', 'zh-Hant'] as const)('a space separates names from other letters, in %s', locale => {
  // Their values are names in Latin letters as a rule. Times, dates, counts and sums are written by the locale.
  const name = '\\{(?:mcpServer|provider|brand|host|processor|payee|mcpClient|technology)\\}';
  const touching = new RegExp(`${name}[${cjk}]|[${cjk}]${name}`, 'u');
  expect(textsOf(locale).filter(text => touching.test(text))).toEqual([]);
});
