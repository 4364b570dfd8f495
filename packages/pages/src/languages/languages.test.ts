import { expect, test } from 'vitest';
import { texts as english } from './en/index.ts';
import { catalogueOf, type Locale, loadLanguage, locales } from './languages.ts';
import type { Message } from './message.ts';

await Promise.all(locales.map(loadLanguage));

interface Wording {
  readonly locale: Locale;
  readonly key: string;
  /** The category of a plural text, the option of a select text. */
  readonly form: string;
  readonly text: string;
}

const englishTexts: Readonly<Record<string, Message>> = catalogueOf('en');

const formsOf = (message: Message) =>
  typeof message === 'string'
    ? { all: message }
    : Object.fromEntries(Object.entries(message).filter(([name]) => name !== 'plural' && name !== 'select'));
const placeholdersIn = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? '');
const placeholdersOf = (message: Message) => new Set(Object.values(formsOf(message)).flatMap(placeholdersIn));
const deciderOf = (message: Message) =>
  typeof message === 'string' ? undefined : 'plural' in message ? message.plural : message.select;

const wordings: readonly Wording[] = [...locales, 'en-XA' as const].flatMap(locale =>
  Object.entries<Message>(catalogueOf(locale)).flatMap(([key, message]) =>
    Object.entries(formsOf(message)).map(([form, text]) => ({ locale, key, form, text })),
  ),
);

test.each(locales)('%s has each text of English, in the same file', async locale => {
  const keysOf = (texts: object) =>
    Object.entries(texts).map(([area, messages]) => [area, Object.keys(messages).toSorted()]);
  expect(keysOf((await loadLanguage(locale)).texts)).toEqual(keysOf(english));
});

test('no two files have the same key', () => {
  const keys = Object.values(english).flatMap(messages => Object.keys(messages));
  expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted());
});

test('each text has the placeholders of the English text', () => {
  const faults = wordings.flatMap(({ locale, key, form, text }) => {
    const original = englishTexts[key] ?? '';
    const found = new Set(placeholdersIn(text));
    const known = placeholdersOf(original);
    // "One permission" needs no number.
    const missing = [...known].filter(name => !found.has(name) && name !== deciderOf(original));
    const unknown = [...found].filter(name => !known.has(name));
    return missing.length + unknown.length === 0 ? [] : [{ locale, key, form, missing, unknown }];
  });
  expect(faults).toEqual([]);
});

test.each(locales)('each plural text has the categories that its language distinguishes, in %s', locale => {
  const rules = new Intl.PluralRules(locale);
  // Our counts are below a thousand; French and Spanish have another category for millions.
  const needed = [...new Set(['other', ...Array.from({ length: 1000 }, (_, n) => rules.select(n))])].toSorted();
  const faults = Object.entries<Message>(catalogueOf(locale)).flatMap(([key, message]) => {
    const found = Object.keys(formsOf(message)).toSorted();
    return typeof message === 'string' || 'select' in message || `${found}` === `${needed}` ? [] : [{ key, found }];
  });
  expect(faults).toEqual([]);
});

test('no text has an exclamation mark, jargon or stray white space', () => {
  const jargon = /oauth|\bmcp\b|elicit|token|scope|callback|csrf|授权码|令牌|回调/i;
  expect(wordings.filter(({ text }) => /[!！¡]|^\s|\s$|\s{2}/.test(text) || jargon.test(text))).toEqual([]);
});

test('the Chinese texts are Chinese', () => {
  const chinese = wordings.filter(({ locale }) => locale.startsWith('zh'));
  expect(
    chinese.filter(
      ({ text }) => !/\p{Script=Han}/u.test(text) || /[A-Za-z]|[,.?;:]/.test(text.replace(/\{\w+\}/g, '')),
    ),
  ).toEqual([]);
});

test('the pseudo-locale is a third longer and shows every text in brackets', () => {
  const lengths = new Map(
    wordings.filter(({ locale }) => locale === 'en').map(({ key, form, text }) => [`${key} ${form}`, text.length]),
  );
  const pseudo = wordings.filter(({ locale }) => locale === 'en-XA');
  expect(pseudo).toHaveLength(lengths.size);
  expect(
    pseudo.filter(
      ({ key, form, text }) =>
        !/^\[.+\]$/.test(text) || text.length < (lengths.get(`${key} ${form}`) ?? Number.POSITIVE_INFINITY) * 1.3,
    ),
  ).toEqual([]);
});
