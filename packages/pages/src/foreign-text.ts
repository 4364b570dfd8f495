import { attributes, type Html, html, ownText } from './html.ts';
import { type Locale, locales } from './languages/languages.ts';

/** A text of another party: in one language that is not named, or in several by language tag (BCP 47). At least one. */
export type ForeignText = string | { readonly [language: string]: string };

/** A text, and its language as a BCP 47 tag. */
export interface TextIn {
  readonly text: string;
  readonly language: string;
}

/**
 * Returns the text for a reader: in the reader's language if there is one, else in English, else in the first of our languages that
 * there is. A later release may know more languages.
 */
function textIn(texts: Exclude<ForeignText, string>, locale: Locale): TextIn {
  const language = [locale, ...locales, ...Object.keys(texts)].find(candidate => Object.hasOwn(texts, candidate));
  const text = language === undefined ? undefined : texts[language];
  if (language === undefined || text === undefined) throw new TypeError('a text without a language');
  return { text, language };
}

/** Renders a text of another party, isolated, and marked with its language if that is known and not the reader's. */
export function foreign(text: ForeignText, { locale }: { readonly locale: Locale }): Html {
  const found = foreignIn(text, { locale });
  if (found.language === undefined) return html`${found.text}`;
  return html`<bdi${attributes({ lang: found.language, dir: 'auto' })}>${ownText(found.text)}</bdi>`;
}

/** Returns the characters of {@link foreign}, and their language if it is known and not the reader's. */
export function foreignIn(
  text: ForeignText,
  { locale }: { readonly locale: Locale },
): { readonly text: string; readonly language?: string } {
  if (typeof text === 'string') return { text };
  const found = textIn(text, locale);
  return found.language === locale ? { text: found.text } : found;
}

/** Returns the characters of {@link foreign}, for attributes and measuring. */
export const foreignPlain = (text: ForeignText, t: { readonly locale: Locale }): string => foreignIn(text, t).text;
