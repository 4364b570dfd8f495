import { createRequire } from 'node:module';
import { compileCostOf } from './pattern-cost.ts';

const require = createRequire(import.meta.url);

type Compiled = ReturnType<typeof import('re2js')['RE2JS']['compile']>;

/** Compiled patterns, the one used last at the end. Each has at most {@link MAX_COMPILE_COST} instructions. */
const compiled = new Map<string, Compiled>();
const MAX_COMPILED = 64;

/** Many gateways never see a pattern: the engine, a quarter of a megabyte of code, is loaded by the first one. */
function compile(pattern: string): Compiled {
  const { RE2JS } = require('re2js') as typeof import('re2js');
  const known = compiled.get(pattern) ?? RE2JS.compile(pattern);
  compiled.delete(pattern);
  compiled.set(pattern, known);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return known;
}

/** What an MCP server asks a text to be like, and how long that text may be. */
export interface PatternedText {
  readonly pattern?: string | undefined;
  readonly maxLength: number;
}

/** Instructions of all patterns of one request, which are compiled in one turn of the event loop: 12 milliseconds. */
const MAX_COMPILE_COST = 6_000;
/**
 * RE2 takes at most the instructions of a pattern times the length of the text in steps of 11 nanoseconds. All texts of one page are
 * matched in one turn of the event loop: 12 milliseconds.
 */
const MAX_STEPS = 2 ** 20;

export interface PatternFault {
  /** Index of the text. */
  readonly at: number;
  readonly message: string;
}

/** What keeps the gateway from matching what will be typed. */
export function patternFaultIn(texts: readonly PatternedText[]): PatternFault | undefined {
  let cost = 0;
  let steps = 0;
  for (const [at, { pattern, maxLength }] of texts.entries()) {
    if (pattern === undefined) continue;
    cost += compileCostOf(pattern);
    if (cost > MAX_COMPILE_COST) return { at, message: 'takes too long to compile: use smaller repeat counts' };
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
