import { type Locale, locales } from '@postern/pages';

/** What the accepting form of an approval posts back: the digest of the terms, and the language in which the page showed them. */
export const shownTerms = (digest: string, language: Locale): string => `${digest}.${language}`;

/**
 * Reads the posted value. The language comes from the form and not from the request that posts it: the user may have chosen another
 * language in another tab since.
 */
export function readShownTerms(shown: string): { readonly digest: string; readonly language: Locale | undefined } {
  const [digest = '', language] = shown.split('.', 2);
  return { digest, language: locales.find(locale => locale === language) };
}
