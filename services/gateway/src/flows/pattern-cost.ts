/** Of every program: its start, its end and the match as a whole. */
const PROGRAM_COST = 4;
/** Of a class of Unicode, `\p{…}`: as many instructions take as long to compile. */
const UNICODE_CLASS_COST = 64;
/** Of a bracketed class, whose ranges are folded where case does not matter. */
const BRACKET_CLASS_COST = 32;

/**
 * Upper bound of what compiling a pattern costs, in instructions of its program (two microseconds each), from its text alone. RE2
 * writes counted repeats out, so that nine characters, `a{0,1000}`, become two thousand instructions.
 */
export function compileCostOf(pattern: string): number {
  /** Instructions of the open groups, the innermost last. */
  const groups = [0];
  let atom = 0;
  let classes = 0;
  const close = (instructions: number) => {
    groups[groups.length - 1] = (groups.at(-1) ?? 0) + atom;
    atom = instructions;
  };
  for (const [token] of pattern.matchAll(TOKENS)) {
    // Flags are no atom: what repeats after them is the atom before them.
    if (token.startsWith('(?')) continue;
    if (token.startsWith('\\Q')) for (const _ of token.slice(2).replace(/\\E$/, '')) close(1);
    else if (token === '(') {
      close(0);
      groups.push(0);
    } else if (token === ')') {
      close(0);
      // One that closes nothing is a fault of the syntax, found by the compiler.
      atom = 2 + (groups.length > 1 ? (groups.pop() ?? 0) : 0);
    } else if (token === '?' || token === '*' || token === '+') atom += 1;
    else if (isRepeat(token)) atom = repeatsIn(token) * (atom + 1) + 1;
    else {
      close(1);
      if (token.startsWith('[')) classes += BRACKET_CLASS_COST;
      classes += (token.match(/\\p/gi)?.length ?? 0) * UNICODE_CLASS_COST;
    }
  }
  close(0);
  return groups.reduce((sum, instructions) => sum + instructions, PROGRAM_COST) + classes;
}

/** Literal text, flags, an escape, a bracketed class, a counted repeat, or one character. */
const TOKENS =
  /\\Q(?:(?!\\E)[\s\S])*(?:\\E)?|\(\?[A-Za-z-]*\)|\\[pPx]\{[^}]*\}|\\[\s\S]?|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]?|\{\d+(?:,\d*)?\}|[\s\S]/gu;

const isRepeat = (token: string) => /^\{\d/.test(token);

function repeatsIn(token: string): number {
  const [least = 0, most = 0] = (token.match(/\d+/g) ?? []).map(Number);
  return Math.max(least, most) + 1;
}
