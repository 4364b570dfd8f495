/** A language of the pages (BCP 47). */
export type Locale = 'en' | 'zh-Hans';

/** Every locale, the default first. */
const locales: readonly Locale[] = ['en', 'zh-Hans'];

const defaultLocale: Locale = 'en';

/** Maximum number of language ranges that are read, more than any browser sends. */
const maxRanges = 50;

/**
 * Chooses the language of a page from an `Accept-Language` header (RFC 9110 section 12.5.4, matching by RFC 4647 lookup
 * with the likely script of a tag, so that `zh-SG` is Simplified and `zh-TW` is not). Default: English.
 */
export function negotiateLocale(acceptLanguage: string | undefined): Locale {
  const ranges = parseRanges(acceptLanguage ?? '');
  const excluded = new Set(ranges.filter(range => range.quality === 0).map(range => matchRange(range.tag)));
  const named = new Set(ranges.map(range => matchRange(range.tag)));
  for (const { tag, quality } of ranges.toSorted((a, b) => b.quality - a.quality)) {
    if (quality === 0) break;
    const match = tag === '*' ? locales.find(locale => !named.has(locale)) : matchRange(tag);
    if (match !== undefined && !excluded.has(match)) return match;
  }
  return defaultLocale;
}

function parseRanges(header: string): { tag: string; quality: number }[] {
  return header
    .split(',', maxRanges)
    .map(part => /^\s*(\*|[A-Za-z0-9-]+)\s*(?:;\s*[qQ]\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*)?$/.exec(part))
    .flatMap(match => (match?.[1] === undefined ? [] : [{ tag: match[1], quality: Number(match[2] ?? '1') }]));
}

function matchRange(tag: string): Locale | undefined {
  const language = /^[A-Za-z]{2,3}(?=-|$)/.exec(tag)?.[0].toLowerCase();
  if (language === 'en') return 'en';
  if (language === 'zh') return likelyScript(tag) === 'Hans' ? 'zh-Hans' : undefined;
  return undefined;
}

/** The script of a tag by CLDR's likely subtags; undefined when the tag is not well-formed. */
function likelyScript(tag: string): string | undefined {
  try {
    return new Intl.Locale(tag).maximize().script;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
