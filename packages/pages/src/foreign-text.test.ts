import { expect, test } from 'vitest';
import { foreign, foreignPlain } from './foreign-text.ts';
import { type Locale, loadLanguage, locales } from './languages/languages.ts';
import { shortName } from './text-width.ts';
import { translatorFor } from './translator.ts';

await Promise.all(locales.map(loadLanguage));

const shown = (text: Parameters<typeof foreign>[0], locale: Locale) => String(foreign(text, { locale }));

test('a text is isolated, and marked with its language if that is not the language of the page', () => {
  expect(shown('Hello', 'de')).toBe('<bdi>Hello</bdi>');
  expect(shown({ en: 'Hello', de: 'Hallo' }, 'de')).toBe('<bdi>Hallo</bdi>');
  expect(shown({ en: 'Hello', de: 'Hallo' }, 'ar')).toBe('<bdi lang="en" dir="auto">Hello</bdi>');
  expect(shown({ ar: 'مرحبا' }, 'en')).toBe('<bdi lang="ar" dir="auto">مرحبا</bdi>');
});

test('a missing language is replaced by English, else by the first of ours', () => {
  const all = Object.fromEntries(locales.map(locale => [locale, locale]));
  for (const locale of locales) expect(foreignPlain(all, { locale })).toBe(locale);
  expect(foreignPlain({ ja: 'ja', en: 'en', de: 'de' }, { locale: 'fr' })).toBe('en');
  expect(foreignPlain({ 'zh-Hans': 'zh', ja: 'ja', es: 'es' }, { locale: 'fr' })).toBe('es');
  expect(foreignPlain({ tlh: 'of a later release' }, { locale: 'fr' })).toBe('of a later release');
});

test('hostile text and hostile tags stay text', () => {
  const tag = '"><script>';
  expect(shown({ [tag]: '<img src=x onerror=alert(1)>' }, 'en')).not.toMatch(/<(?!\/?bdi)/);
});

test('a sentence contains a name in the language of its reader, shortened in each', () => {
  const name = { en: 'Issue Tracker', de: 'Aufgabenverwaltung der gesamten nordwestlichen Niederlassung' };
  const t = translatorFor({ locale: 'de' });
  expect(t.plain('form.heading', { mcpServer: name })).toContain('Aufgabenverwaltung der gesamten');
  expect(String(t.html('form.heading', { mcpServer: shortName(name) }))).toContain('…</bdi>');
  expect(String(translatorFor({ locale: 'fr' }).html('form.heading', { mcpServer: name }))).toContain(
    '<bdi lang="en" dir="auto">Issue Tracker</bdi>',
  );
});
