import { z } from 'zod/v4';
import { plainText } from './plain-text.ts';

/** The languages of the gateway's pages (BCP 47), in the order in which they stand in for one another. */
export const languageTags = ['en', 'de', 'fr', 'es', 'ja', 'ar', 'zh-Hans', 'zh-Hant'] as const;
export type LanguageTag = (typeof languageTags)[number];

/** A text in one language that is not named, or in several by language tag. */
export type LocalText = string | { readonly [language: string]: string };

const schemas = new Map<number, ReturnType<typeof createLocalText>>();

function createLocalText(max: number) {
  return z
    .union([
      plainText(max),
      z
        .partialRecord(z.enum(languageTags), plainText(max))
        .refine(texts => Object.keys(texts).length > 0, { error: 'at least one language' }),
    ])
    .meta({
      id: `Text${max}`,
      description: `One line of plain text of at most ${max} characters, or an object with such a text for each language.`,
    });
}

/** {@link plainText}, or one such text per language: `{ en: 'Branch', de: 'Zweig' }`. */
export function localText(max: number): ReturnType<typeof createLocalText> {
  const known = schemas.get(max) ?? createLocalText(max);
  schemas.set(max, known);
  return known;
}

/** A text of an MCP server, as a response returns it. */
export const localizedTextSchema = z
  .union([z.string(), z.record(z.string(), z.string())])
  .meta({ id: 'LocalizedText', description: 'A text, or an object with a text for each language.' });

/**
 * Returns the text for a reader: in the language of `tag` (BCP 47) if there is one, else in English, else in the first language of
 * {@link languageTags} that there is. Pages of the gateway follow the same rule.
 */
export function textFor(text: LocalText, tag?: string): string {
  if (typeof text === 'string') return text;
  const wanted = tag === undefined ? undefined : languageOf(tag);
  const own = wanted === undefined ? undefined : Object.keys(text).find(language => languageOf(language) === wanted);
  const language = [own, ...languageTags, ...Object.keys(text)].find(
    candidate => candidate !== undefined && Object.hasOwn(text, candidate),
  );
  return language === undefined ? '' : (text[language] ?? '');
}

/** Returns the text for readers whose language is not known, such as operators. */
export const defaultText = (text: LocalText): string => textFor(text);

/** Language and script of a tag, by CLDR's likely subtags. Undefined if the tag is not well-formed. */
function languageOf(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
