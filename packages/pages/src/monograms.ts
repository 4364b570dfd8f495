/** The letters and the colour that stand for a name without an image. */

/** Number of tones in `marks.css`. @internal exported for tests */
export const toneCount = 12;

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Marks of an Indic or Arabic letter that are kept; more of them pile up over neighbouring lines. */
const maxMarks = 2;

/**
 * Returns the letters of a name: the initials of its first and its second or last word, or the first two letters of a single word
 * ("GH" for "GitHub", "Sl" for "Slack"). A script without upper case gives one letter, an emoji only if no letter is left. Empty if
 * the name has nothing visible.
 */
export function monogramOf(name: string, second: 'second' | 'last' = 'second'): string {
  const words = name
    .normalize('NFC')
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .map(word => lettersOf(word))
    .filter(letters => letters.length > 0);
  const [first = []] = words;
  const [initial] = first;
  if (initial === undefined) return firstEmoji(name);
  if (!isCased(initial)) return initial;
  const other = words.length > 1 ? words.at(second === 'last' ? -1 : 1)?.[0] : innerCapital(first);
  if (other === undefined) return short(upper(initial) + (first[1] ?? ''));
  return isCased(other) || /^\p{N}$/u.test(other) ? upper(initial) + upper(other) : upper(initial);
}

/** Returns a tone from 0 to `toneCount - 1`, always the same for one name. */
export function toneOf(name: string): number {
  // FNV-1a: the tone identifies nothing, it only has to differ and to stay.
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name.normalize('NFC'))) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash % toneCount;
}

/** One letter where two would read as an answer, next to buttons that ask for one. */
function short(letters: string): string {
  return /^(?:no|ok)$/i.test(letters) ? letters.slice(0, 1) : letters;
}

/** Letters and digits, each with few enough marks to fit its line. */
function lettersOf(word: string): string[] {
  return [...graphemes.segment(word.slice(0, 64))].flatMap(({ segment }) => {
    const [base = '', ...marks] = segment;
    if (!/^[\p{L}\p{N}]$/u.test(base) || /^\p{Default_Ignorable_Code_Point}$/u.test(base)) return [];
    return [
      base +
        marks
          .filter(mark => /^\p{M}$/u.test(mark))
          .slice(0, maxMarks)
          .join(''),
    ];
  });
}

function isCased(letter: string): boolean {
  return letter.toLowerCase() !== letter.toUpperCase();
}

/** Upper case, unless that takes more than one letter ("ß"). */
function upper(letter: string): string {
  const large = letter.toUpperCase();
  return [...graphemes.segment(large)].length === 1 ? large : letter;
}

function innerCapital([, ...others]: readonly string[]): string | undefined {
  const isCapital = (letter: string) => letter !== letter.toLowerCase();
  return others.every(isCapital) ? undefined : others.find(isCapital);
}

function firstEmoji(name: string): string {
  for (const { segment } of graphemes.segment(name.slice(0, 200))) if (/^\p{RGI_Emoji}$/v.test(segment)) return segment;
  return '';
}
