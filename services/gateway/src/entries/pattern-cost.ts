/** Instructions of every program: start, end and the whole match. */
const PROGRAM_COST = 4;
/** Compiling a Unicode class, `\p{…}`, takes as long as this many instructions. */
const UNICODE_CLASS_COST = 64;
/** Likewise for a bracketed class, because a case-insensitive pattern folds its ranges. */
const BRACKET_CLASS_COST = 32;

/**
 * Returns an upper bound of the cost to compile a pattern, in instructions (two microseconds each), from its text alone. RE2 expands
 * counted repeats: the nine characters `a{0,1000}` become two thousand instructions.
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
    // Flags are not an atom: a following repeat applies to the atom before them.
    if (token.startsWith('(?')) continue;
    if (token.startsWith('\\Q')) for (const _ of token.slice(2).replace(/\\E$/, '')) close(1);
    else if (token === '(') {
      close(0);
      groups.push(0);
    } else if (token === ')') {
      close(0);
      // The compiler reports an unmatched parenthesis.
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
