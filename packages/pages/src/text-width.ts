import type { ForeignText } from './foreign-text.ts';

/** Scripts whose letters are about twice as wide as Latin ones. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uff60]/u;

/** Estimates the width of a text in Latin letters. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += wide.test(character) ? 2 : 1;
  return width;
}

export function fitsOneLine(text: string, width: number): boolean {
  return !text.includes('\n') && widthOf(text) <= width;
}

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Maximum width of a name within a sentence. */
const maxNameWidth = 32;

/** Shortens a name for a sentence, in each of its languages. Only for names that the same page shows in full. */
export function shortName<Name extends ForeignText>(name: Name): Name extends string ? string : ForeignText;
export function shortName(name: ForeignText): ForeignText {
  if (typeof name === 'string') return shortened(name);
  return Object.fromEntries(Object.entries(name).map(([language, text]) => [language, shortened(text)]));
}

function shortened(name: string): string {
  if (widthOf(name) <= maxNameWidth) return name;
  let short = '';
  for (const { segment } of graphemes.segment(name)) {
    if (widthOf(short + segment) >= maxNameWidth) break;
    short += segment;
  }
  return `${short.trimEnd()}…`;
}

/** Maximum width of a host on a button. A longer one is named above the buttons. */
export const maxButtonHost = 28;
