import { scopes, texts } from './en/index.ts';
import { pseudo } from './pseudo.ts';
import type { Catalogue, Language } from './texts.ts';

interface Offered {
  /** Its own name, as its readers write it. */
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
  readonly load: () => Promise<Language>;
}

/** Of every process, because it also serves where another language has no text. */
const english: Language = { texts, scopes };

/** The languages that readers can have, by BCP 47 tag. The first is the default. */
const offered = {
  en: { name: 'English', direction: 'ltr', load: async () => english },
  de: { name: 'Deutsch', direction: 'ltr', load: async () => (await import('./de/index.ts')).de },
  fr: { name: 'Français', direction: 'ltr', load: async () => (await import('./fr/index.ts')).fr },
  es: { name: 'Español', direction: 'ltr', load: async () => (await import('./es/index.ts')).es },
  ja: { name: '日本語', direction: 'ltr', load: async () => (await import('./ja/index.ts')).ja },
  ar: { name: 'العربية', direction: 'rtl', load: async () => (await import('./ar/index.ts')).ar },
  'zh-Hans': { name: '简体中文', direction: 'ltr', load: async () => (await import('./zh-Hans/index.ts')).zhHans },
  'zh-Hant': { name: '繁體中文', direction: 'ltr', load: async () => (await import('./zh-Hant/index.ts')).zhHant },
} satisfies Readonly<Record<string, Offered>>;

/** `en-XA` is a pseudo-locale made from English, for tests and previews; no reader gets it. */
const shown = { ...offered, 'en-XA': { ...offered.en, name: 'Pseudo' } };

/** A language of the pages (BCP 47). */
export type Locale = keyof typeof shown;

/** Every language that a reader can have. */
export const locales = Object.keys(offered) as (keyof typeof offered)[];

export function languageOf(locale: Locale): Omit<Offered, 'load'> {
  return shown[locale];
}

interface Loaded extends Language {
  readonly catalogue: Catalogue;
}

const loaded = new Map<Locale, Loaded>([
  ['en', loadedFrom(english)],
  ['en-XA', { ...english, catalogue: pseudo(loadedFrom(english).catalogue) }],
]);

function loadedFrom(language: Language): Loaded {
  return { ...language, catalogue: Object.assign({}, ...Object.values(language.texts)) as Catalogue };
}

/** Loads the texts of a language. Call it before its first page. */
export async function loadLanguage(locale: Locale): Promise<Language> {
  const found = loaded.get(locale) ?? loadedFrom(await shown[locale].load());
  loaded.set(locale, found);
  return found;
}

/** All texts of a loaded language, by key. */
export const catalogueOf = (locale: Locale): Catalogue => loadedOf(locale).catalogue;

/** What scopes allow, in a loaded language, by preset and scope. */
export const scopesOf = (locale: Locale): Language['scopes'] => loadedOf(locale).scopes;

function loadedOf(locale: Locale): Loaded {
  const found = loaded.get(locale);
  if (found === undefined) throw new TypeError(`the texts of ${locale} are not loaded`);
  return found;
}
