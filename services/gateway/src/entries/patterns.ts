import { createRequire } from 'node:module';
import { compileCostOf } from './pattern-cost.ts';

const require = createRequire(import.meta.url);

type Compiled = ReturnType<typeof import('re2js')['RE2JS']['compile']>;

/** LRU cache of compiled patterns, the most recent last. A pattern has at most {@link MAX_COMPILE_COST} instructions. */
const compiled = new Map<string, Compiled>();
const MAX_COMPILED = 64;

/** Loads the engine (250 kB of code) with the first pattern, because many gateways never see one. */
function compile(pattern: string): Compiled {
  const { RE2JS } = require('re2js') as typeof import('re2js');
  const known = compiled.get(pattern) ?? RE2JS.compile(pattern);
  compiled.delete(pattern);
  compiled.set(pattern, known);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return known;
}

/** A text field of an MCP server's request. */
export interface PatternedText {
  readonly pattern?: string | undefined;
  readonly maxLength: number;
}

/** Maximum instructions of all patterns of one request. They are compiled in one turn of the event loop: 12 milliseconds. */
const MAX_COMPILE_COST = 6_000;
/**
 * Maximum steps to match all texts of one page, in one turn of the event loop: 12 milliseconds. RE2 takes at most instructions
 * × text
 * length steps of 11 nanoseconds.
 */
const MAX_STEPS = 2 ** 20;

export interface PatternFault {
  /** Index of the text. */
  readonly at: number;
  readonly message: string;
}

/** Finds a pattern that is invalid or too costly to match. */
export function findPatternFault(texts: readonly PatternedText[]): PatternFault | undefined {
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

/** Whether the pattern matches the whole text. */
export function isWholeMatch(pattern: string, text: string): boolean {
  return compile(pattern).matches(text);
}

/** Whether the pattern matches anywhere in the text, as in JSON Schema. */
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
