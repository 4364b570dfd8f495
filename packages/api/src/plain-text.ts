import { z } from 'zod';

/**
 * Text from an MCP server that a person will read. It must be inert and unable to imitate or reorder the page around it
 * (UTR 36, UTS 39): no control, bidi, line- or paragraph-separator, tag, private-use or unassigned character. The
 * zero-width joiner is allowed only inside emoji sequences, where it has a visible meaning.
 */
const FORBIDDEN =
  /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/u;
const OTHER_FORMAT = /(?!\u200D)\p{Cf}/u;
const STRAY_JOINER =
  /(?<!\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D|\u200D(?!\p{Extended_Pictographic})/u;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function isWithin(text: string, max: number): boolean {
  // A grapheme takes at least one code unit, so a short text needs no counting.
  if (text.length <= max) return true;
  let count = 0;
  for (const _ of graphemes.segment(text)) {
    count += 1;
    if (count > max) return false;
  }
  return true;
}

export function isInert(text: string): boolean {
  return !FORBIDDEN.test(text) && !OTHER_FORMAT.test(text) && !STRAY_JOINER.test(text);
}

/** One line of plain text of at most `max` characters as a person counts them, normalised to NFC. */
export function plainText(max: number) {
  return (
    z
      .string()
      // Bounds the work before counting graphemes; one grapheme rarely takes more than eight code units.
      .max(max * 8)
      .transform(text => text.normalize('NFC').trim())
      .pipe(
        z
          .string()
          .min(1)
          .refine(text => isWithin(text, max), { error: `at most ${max} characters` })
          .refine(isInert, { error: 'control, bidirectional and invisible characters are not allowed' }),
      )
  );
}

/** Alphabets with letters that look alike. Nobody writes two of them in one word but to imitate another word. */
const ALPHABETS = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Georgian'].map(
  script => new RegExp(`\\p{Script=${script}}`, 'u'),
);

/** Whether a word mixes alphabets, as "Pаypal" with a Cyrillic "а" does (UTS 39 section 5.2; moderately restrictive, by word). */
function mixesAlphabets(text: string): boolean {
  const words = text.match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.some(word => ALPHABETS.filter(alphabet => alphabet.test(word)).length > 1);
}

/** {@link plainText} that names somebody: it must not be taken for somebody else's name. */
export function plainName(max: number) {
  return plainText(max).refine(name => !mixesAlphabets(name), { error: 'a word mixes letters of different alphabets' });
}
