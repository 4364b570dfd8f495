import { ar } from './ar/index.ts';
import { de } from './de/index.ts';
import { scopes, texts } from './en/index.ts';
import { es } from './es/index.ts';
import { fr } from './fr/index.ts';
import { ja } from './ja/index.ts';
import { pseudo } from './pseudo.ts';
import type { Catalogue, Language } from './texts.ts';
import { zhHans } from './zh-Hans/index.ts';
import { zhHant } from './zh-Hant/index.ts';

const en: Language = { name: 'English', direction: 'ltr', texts, scopes };

/** The languages that readers can have, by BCP 47 tag. The first is the default. */
const offered = {
  en,
  de,
  fr,
  es,
  ja,
  ar,
  'zh-Hans': zhHans,
  'zh-Hant': zhHant,
} satisfies Readonly<Record<string, Language>>;

/** `en-XA` is a pseudo-locale made from English, for tests and previews; no reader gets it. */
const shown = { ...offered, 'en-XA': { ...en, name: 'Pseudo' } };

/** A language of the pages (BCP 47). */
export type Locale = keyof typeof shown;

/** Every language that a reader can have. */
export const locales = Object.keys(offered) as (keyof typeof offered)[];

export function languageOf(locale: Locale): Language {
  return shown[locale];
}

const catalogues = new Map<Locale, Catalogue>();

/** All texts of a language, by key. */
export function catalogueOf(locale: Locale): Catalogue {
  let catalogue = catalogues.get(locale);
  if (catalogue === undefined) {
    const all = Object.assign({}, ...Object.values(shown[locale].texts)) as Catalogue;
    catalogue = locale === 'en-XA' ? pseudo(all) : all;
    catalogues.set(locale, catalogue);
  }
  return catalogue;
}
