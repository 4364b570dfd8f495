import { z } from 'zod/v4';
import { INERT_RULE, isInert } from './plain-text.ts';

/** In UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 200;

/**
 * A regular expression from an MCP server, never executed here. Characters that text may not contain must be written as
 * escapes, so a pattern has a canonical form and can be shown.
 */
export const patternSchema = z
  .string()
  .min(1)
  .max(MAX_PATTERN_LENGTH)
  .refine(isInert, { error: `${INERT_RULE}: write them as escapes` });

/** Look-around and back-references, outside of character classes. RE2 has neither. */
const BEYOND_RE2 = /^(?:\\[^1-9k]|\[(?:\\.|[^\]\\])*\]|[^\\[])*?(?:\(\?<?[=!]|\\[1-9k])/s;

/** Why the gateway, which matches patterns with RE2, refuses this one. Undefined: as far as its syntax shows, it does not. */
export const patternFault = (pattern: string): string | undefined =>
  BEYOND_RE2.test(pattern)
    ? 'RE2 has no look-ahead, look-behind and back-references: leave them out, and explain the format in the description'
    : undefined;
