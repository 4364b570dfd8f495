import { stripVTControlCharacters } from 'node:util';

/**
 * Everything that moves a cursor, reorders, hides or has no agreed look: controls, format and bidirectional characters,
 * surrogates, private use, unassigned, and whatever Unicode calls ignorable (UTR 36 section 2, UTS 39 section 3).
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu;
/** Marks that are piled up reach into the lines around them. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

/** Text of others on one line: it can neither move the cursor nor imitate this program. At most `max` code points, the last an ellipsis where something is left out. */
export function inertLine(text: string, max = 500): string {
  const line = stripVTControlCharacters(text.toWellFormed())
    .replace(/[\s\u0085\u2800]+/gu, ' ')
    .replace(UNSAFE, '')
    .replace(PILED_MARKS, '$1')
    .trim();
  return shorten(line, max);
}

/** {@link inertLine} for text of several lines; what is left out is said. */
export function inertLines(text: string, p: { maxLines: number; maxLength: number }): readonly string[] {
  const lines = text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/u)
    .map(line => inertLine(line, p.maxLength))
    .filter(line => line !== '');
  if (lines.length <= p.maxLines) return lines;
  return [...lines.slice(0, p.maxLines), `… (${lines.length - p.maxLines} more lines)`];
}

function shorten(line: string, max: number): string {
  const characters = [...line];
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}
