const maxLength = 200;

/** Controls, line separators, blank, enclosing, invisible and direction-changing characters, unpaired surrogates, private use. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Me}\u2800[\p{Default_Ignorable_Code_Point}--\p{Mn}]]+/gv;
/** Marks that pile up reach into the lines around them. */
const piled = /(\p{M}{4})\p{M}+/gu;
const visible = /[^\p{Z}\p{M}]/u;

/** A provider's text as it may be shown on one line, or undefined if nothing is left of it. Still to be escaped. */
export function displayText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 4 * maxLength)
    .normalize('NFC')
    .replace(unsafe, ' ')
    .replace(piled, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return visible.test(text) ? [...text].slice(0, maxLength).join('') : undefined;
}
