import { z } from 'zod/v4';

/**
 * Rules for untrusted text that users read: it must be visible, inert, and confined to its line (UTR 36, UTS 39 section 5.4,
 * UAX 31 section 2.3). `isInert` validates text, `inertText` cleans text that is shown anyway, `plainText` and `plainName` are the schemas
 * of what callers send.
 */

/** Characters that are allowed only if they have a visible effect: joiners, variation selectors, the keycap. */
const CONTEXTUAL = String.raw`\u200C\u200D\uFE0E\uFE0F\u20E3`;
/** Invisible symbols and letters that Unicode does not classify as ignorable. */
const BLANK = String.raw`\u2800\uFFFC\u{16FE4}\u{1D159}\u{13441}\u{13442}`;
/** Marks that strike their letter through. `\p{Me}`, the enclosing marks, do as well. */
const OVERLAY = String.raw`\u0334-\u0338\u20D2\u20D3\u20D8-\u20DA\u20E5\u20E6\u20EA\u20EB`;
const REFUSED = String.raw`[[\p{C}\p{Zl}\p{Zp}\p{Me}\p{Default_Ignorable_Code_Point}${BLANK}${OVERLAY}]--[${CONTEXTUAL}]]`;

/** Indic_Syllabic_Category=Virama of the scripts in common use. */
const VIRAMA = String.raw`\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D4D\u0DCA\u1B44\uA9C0`;
/** Letters of Arabic and Syriac that join to the next one (Joining_Type=Dual_Joining, Unicode 17). */
const JOINS_NEXT = String.raw`\u0620\u0626\u0628\u062A-\u062E\u0633-\u063F\u0641-\u0647\u0649\u064A\u066E\u066F\u0678-\u0687\u069A-\u06BF\u06C1\u06C2\u06CC\u06CE\u06D0\u06D1\u06FA-\u06FC\u06FF\u0712-\u0714\u071A-\u071D\u071F-\u0727\u0729\u072B\u072D\u072E\u074E-\u0758\u075C-\u076A\u076D-\u0770\u0772\u0775-\u0777\u077A-\u077F\u08A0-\u08A9\u08AF\u08B0\u08B3-\u08B8\u08BA-\u08C8`;

const inContext = [
  // UAX 31 A1: breaks a cursive connection, as Persian does.
  String.raw`(?<=[${JOINS_NEXT}]\p{Mn}*)\u200C(?=[\p{L}&&[\p{Script=Arabic}\p{Script=Syriac}]])`,
  // UAX 31 A2 and B: how a conjunct is drawn.
  String.raw`(?<=[${VIRAMA}])(?:\u200C(?=\p{L})|\u200D(?!\p{M}))`,
  // The Unicode Standard sections 12.2 and 12.8: ya-phala and reph of Bengali and Kannada.
  String.raw`(?<=[\u09B0\u0CB0])\u200D(?=[\u09CD\u0CCD])`,
  // UTS 51: emoji and their presentation.
  String.raw`(?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Extended_Pictographic})[\uFE0E\uFE0F]`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
  String.raw`(?<=[0-9#*]\uFE0F?)\u20E3`,
].join('|');
const STRAY = `(?!${inContext})[${CONTEXTUAL}]`;

/** UTS 39 section 5.4 allows four nonspacing marks on one letter. Spacing marks do not pile up, but count as no character. */
const PILED = String.raw`(?:\p{Mn}\p{Mc}*){5}|\p{M}{7}`;
/** A leading mark would be drawn over the preceding text, which may come from another party. */
const BASELESS = String.raw`(?:^|\p{Z})\p{M}`;

const lies = new RegExp([REFUSED, STRAY, PILED, BASELESS].join('|'), 'v');

const refused = new RegExp(REFUSED, 'gv');
const stray = new RegExp(STRAY, 'gv');
const overlong = /(\p{M}{6})\p{M}+/gv;
const piled = /((?:\p{Mn}\p{Mc}*){4})\p{M}+/gv;
const baseless = /(^|\p{Z})\p{M}+/gv;

/** Whether the text is fully visible, stays on its line and keeps its order. */
export function isInert(text: string): boolean {
  return !lies.test(text.normalize('NFC'));
}

const contextual = new RegExp(`[${CONTEXTUAL}]`, 'gv');

/**
 * Terminal sequences (ECMA-48): strings such as OSC up to their end, CSI, and two-character escapes. An unfinished one is consumed up to
 * the next escape, so that the time grows with the length only; `stripVTControlCharacters` of Node.js is quadratic there.
 */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[PX\]^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -~]?/g;

/** Removes terminal sequences with their parameters, which would remain as text. */
export function withoutEscapes(text: string): string {
  return text.replace(ESCAPES, '');
}

/** Removes everything that {@link isInert} refuses and normalises to NFC. */
export function inertText(text: string): string {
  const cleaned = withoutLies(text);
  // Repeat, because a removal may bring marks together or orphan a joiner.
  return isInert(cleaned) ? cleaned : withoutLies(cleaned.replace(contextual, ''));
}

function withoutLies(text: string): string {
  return text
    .normalize('NFC')
    .replace(refused, '')
    .replace(stray, '')
    .replace(overlong, '$1')
    .replace(piled, '$1')
    .replace(baseless, '$1')
    .replace(stray, '')
    .normalize('NFC');
}

/** What {@link isInert} refuses in one line, tabs excepted. Each alternative looks back over few characters only. */
const UNSEEN = [
  String.raw`[${REFUSED}--[\n\t]]\p{M}*`,
  STRAY,
  String.raw`(?<=^|[\p{Z}\p{C}])\p{M}`,
  String.raw`(?<=\p{M}{6})\p{M}`,
  String.raw`(?<=(?:\p{Mn}\p{Mc}*){4})\p{M}`,
].join('|');
const unseen = new RegExp(`((?:${UNSEEN})+)`, 'v');

/**
 * Splits a text that must be shown whole and unchanged. At odd indexes are characters that would not be
 * seen, or would change how others are seen: show their code points instead.
 */
export const unseenApart = (text: string): readonly string[] => text.split(unseen);

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
