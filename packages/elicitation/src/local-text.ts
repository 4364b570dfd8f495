/** A text of an MCP server: in one language that is not named, or in several by language tag (BCP 47). At least one. */
export type LocalText = string | { readonly [language: string]: string };

/** The order in which languages stand in for a missing one, as on the pages. */
const STAND_INS = ['en', 'de', 'fr', 'es', 'ja', 'ar', 'zh-Hans', 'zh-Hant'];

/** Returns the text that a page in this language shows. */
export function textIn(text: LocalText, language?: string): string {
  if (typeof text === 'string') return text;
  const found = [language, ...STAND_INS, ...Object.keys(text)].find(
    tag => tag !== undefined && Object.hasOwn(text, tag),
  );
  return found === undefined ? '' : (text[found] ?? '');
}
