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

const byLikelySubtags = new Map(locales.map(locale => [likelySubtags(locale), locale]));

/** Maximum number of language ranges that are read, more than any browser sends. */
const maxRanges = 50;

/** What may decide the language of a page, the first one that we have texts for. All but the last come from outside. */
export interface LanguageWishes {
  /** The choice that the reader made on a page: one of our own tags. */
  readonly chosen?: string | undefined;
  /** Language of the user as the MCP server knows it (BCP 47). */
  readonly asked?: string | undefined;
  /** Header of the browser. */
  readonly acceptLanguage?: string | undefined;
  /** The operator's default. */
  readonly fallback?: Locale | undefined;
}

export function chooseLocale({ chosen, asked, acceptLanguage, fallback = 'en' }: LanguageWishes): Locale {
  return (
    locales.find(locale => locale === chosen) ??
    (asked === undefined ? undefined : matchLocale(asked)) ??
    negotiateLocale(acceptLanguage ?? '', fallback) ??
    fallback
  );
}

/**
 * Chooses from an `Accept-Language` header (RFC 9110 section 12.5.4), by the likely language and script of each range, so
 * that `zh-SG` is Simplified Chinese, `zh-TW` is Traditional, and a region that we have no texts for gets its language.
 */
function negotiateLocale(acceptLanguage: string, fallback: Locale): Locale | undefined {
  const ranges = parseRanges(acceptLanguage);
  const excluded = new Set(ranges.filter(range => range.quality === 0).map(range => range.locale));
  const named = new Set(ranges.map(range => range.locale));
  for (const { tag, locale, quality } of ranges.toSorted((a, b) => b.quality - a.quality)) {
    if (quality === 0) break;
    const match = tag === '*' ? [fallback, ...locales].find(offered => !named.has(offered)) : locale;
    if (match !== undefined && !excluded.has(match)) return match;
  }
  return undefined;
}

/** Returns the language of ours that a BCP 47 tag stands for, if we have one. */
function matchLocale(tag: string): Locale | undefined {
  return byLikelySubtags.get(likelySubtags(tag));
}

function parseRanges(header: string): { tag: string; locale: Locale | undefined; quality: number }[] {
  return header
    .split(',', maxRanges)
    .map(part => /^\s*(\*|[A-Za-z0-9-]+)\s*(?:;\s*[qQ]\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*)?$/.exec(part))
    .flatMap(match => {
      const tag = match?.[1];
      return tag === undefined ? [] : [{ tag, locale: matchLocale(tag), quality: Number(match?.[2] ?? '1') }];
    });
}

/** Language and script of a tag by CLDR's likely subtags; undefined when the tag is not well-formed. */
function likelySubtags(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
