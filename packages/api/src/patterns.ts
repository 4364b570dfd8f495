import { z } from 'zod/v4';
import { isInert } from './inert-text.ts';
import { INERT_RULE } from './plain-text.ts';

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
