import { z } from 'zod/v4';
import { isInert } from './inert-text.ts';

let graphemes: Intl.Segmenter | undefined;

function isWithin(text: string, max: number): boolean {
  // A grapheme takes at least one code unit, so a short text needs no counting.
  if (text.length <= max) return true;
  // Created for the first long text, because it takes milliseconds of every start.
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let count = 0;
  for (const _ of graphemes.segment(text)) {
    count += 1;
    if (count > max) return false;
  }
  return true;
}

/** Describes the text that {@link isInert} refuses. */
export const INERT_RULE =
  'control, bidirectional, invisible and overlaid characters are not allowed, nor more than four marks on a letter';

/** One line of plain text of at most `max` graphemes, normalised to NFC. */
export function plainText(max: number) {
  return (
    z
      .string()
      // Limits the work before counting graphemes; a grapheme rarely has more than eight code units.
      .max(max * 8)
      .transform(text => text.normalize('NFC').trim())
      .pipe(
        z
          .string()
          .min(1)
          .refine(text => isWithin(text, max), { error: `at most ${max} characters` })
          .refine(isInert, { error: INERT_RULE }),
      )
  );
}

/** Alphabets with letters that look alike. A word that mixes two of them is an imitation of another word. */
const ALPHABETS = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Georgian'].map(
  script => new RegExp(`\\p{Script=${script}}`, 'u'),
);

/** Whether a word mixes alphabets, as "Pаypal" with a Cyrillic "а" does (UTS 39 section 5.2; moderately restrictive, by word). */
function mixesAlphabets(text: string): boolean {
  const words = text.match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.some(word => ALPHABETS.filter(alphabet => alphabet.test(word)).length > 1);
}

/** {@link plainText} for names, which must not imitate other names. */
export function plainName(max: number) {
  return plainText(max).refine(name => !mixesAlphabets(name), { error: 'a word mixes letters of different alphabets' });
}
