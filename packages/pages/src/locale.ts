import { type Locale, locales } from './languages/languages.ts';

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
