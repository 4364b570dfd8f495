const maxLength = 200;

/** Controls, line separators, invisible and direction-changing format characters, unpaired surrogates, private use. */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu;

/** A provider's text as it may be shown on one line, or undefined if nothing is left of it. Still to be escaped. */
export function displayText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 4 * maxLength)
    .normalize('NFC')
    .replace(unsafe, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return [...text].slice(0, maxLength).join('') || undefined;
}
