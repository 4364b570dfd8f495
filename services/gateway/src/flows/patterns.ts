import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Many gateways never see a pattern: the engine, a quarter of a megabyte of code, is loaded by the first one. */
function compile(pattern: string) {
  const { RE2JS } = require('re2js') as typeof import('re2js');
  return RE2JS.compile(pattern);
}

/** What an MCP server asks a text to be like, and how long that text may be. */
export interface PatternedText {
  readonly pattern?: string | undefined;
  readonly maxLength: number;
}

/**
 * RE2 needs no more time than the instructions of the pattern times the length of the value, whatever an MCP server writes here; some 50
 * nanoseconds for each. This is for all texts of one page together, because they are matched in one go, in which nobody else
 * is served.
 */
const MAX_STEPS = 2 ** 21;

export interface PatternFault {
  /** Index of the text. */
  readonly at: number;
  readonly message: string;
}

/** What keeps the gateway from matching what will be typed. */
export function patternFaultIn(texts: readonly PatternedText[]): PatternFault | undefined {
  let steps = 0;
  for (const [at, { pattern, maxLength }] of texts.entries()) {
    if (pattern === undefined) continue;
    const size = programSizeOf(pattern);
    if (size === undefined) return { at, message: 'not a pattern in RE2 syntax' };
    steps += size * maxLength;
    if (steps > MAX_STEPS)
      return { at, message: 'takes too long to match: use smaller repeat counts or a smaller maxLength' };
  }
  return undefined;
}

/** Whether the whole text is as the pattern says. */
export function isWholeMatch(pattern: string, text: string): boolean {
  return compile(pattern).matches(text);
}

/** Whether the pattern occurs in the text, as JSON Schema has it. */
export function occursIn(pattern: string, text: string): boolean {
  return compile(pattern).matcher(text).find();
}

function programSizeOf(pattern: string): number | undefined {
  try {
    return compile(pattern).programSize();
  } catch {
    return undefined;
  }
}
