import { readFileSync } from 'node:fs';

/** Small capitals and similar letters of other alphabets, which UTS 39 does not map to their letter. */
const SMALL_CAPITALS = new Map(
  Object.entries({
    ᴀ: 'a',
    ʙ: 'b',
    ᴅ: 'd',
    ᴇ: 'e',
    ꜰ: 'f',
    ɢ: 'g',
    ʜ: 'h',
    ᴊ: 'j',
    ĸ: 'k',
    ʟ: 'l',
    ʍ: 'rn',
    ɴ: 'n',
    ᴘ: 'p',
    ꞯ: 'q',
    ʀ: 'r',
    ᴛ: 't',
  }),
);

/** In a small font, dots at different heights look alike. UTS 39 maps all middle dots to the first, but not to the full stop. */
const DOTS = new Map([
  ['\u00b7', '.'],
  ['\u2e33', '.'],
]);

const prototypes = readPrototypes();
const ignorable = /\p{Default_Ignorable_Code_Point}/u;

function readPrototypes(): ReadonlyMap<string, string> {
  const characters = (codePoints: string) =>
    String.fromCodePoint(...codePoints.split('+').map(codePoint => Number.parseInt(codePoint, 16)));
  const read = new Map<string, string>([...SMALL_CAPITALS, ...DOTS]);
  for (const line of readFileSync(new URL('confusables.txt', import.meta.url), 'utf8').split('\n')) {
    const [shown, ...sources] = line.split(' ');
    if (shown === undefined || shown === '' || shown === '#') continue;
    const prototype = characters(shown);
    for (const source of sources)
      read.set(characters(source), SMALL_CAPITALS.get(prototype) ?? DOTS.get(prototype) ?? prototype);
  }
  return read;
}

/** UTS 39 section 4, over NFKD instead of NFD: replaces characters that look alike by one of them, and removes spaces. */
function skeleton(text: string): string {
  let shown = '';
  for (const character of text.normalize('NFKD'))
    if (!ignorable.test(character)) shown += prototypes.get(character) ?? character;
  return shown.normalize('NFD').replaceAll(' ', '');
}

/** Full case folding. */
const fold = (text: string): string => text.toUpperCase().toLowerCase();

/**
 * Two words look alike if they share a key. Some letters look alike only in upper case, others only in lower case, so the keys fold
 * case at different steps.
 */
export function confusionKeys(word: string): readonly [string, string] {
  return [skeleton(fold(word.normalize('NFKC'))), skeleton(fold(skeleton(word)))];
}

/** Equal for spellings of one name that differ only in case, apostrophes or hyphens. */
export function sameNameKey(word: string): string {
  return fold(word.normalize('NFC'))
    .replace(/[‘’ʼ]/gu, "'")
    .replace(/\p{Pd}/gu, '-');
}
