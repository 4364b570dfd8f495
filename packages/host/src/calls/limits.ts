import { z } from 'zod/v4';
import { HostError } from '../errors.ts';

const milliseconds = z.number().positive().finite();
const count = z.int().positive();

const limitsSchema = z.strictObject({
  totalMs: milliseconds.default(15 * 60_000),
  completionMs: milliseconds.default(10 * 60_000),
  retries: count.default(5),
  inputRounds: count.default(10),
  repeats: count.default(10),
  pollMinMs: milliseconds.default(250),
  pollMaxMs: milliseconds.default(5_000),
});

/** Limits of one tool call with elicitations. Times are in milliseconds. */
export interface CallLimits {
  /** Timeout of the whole call, including the time that users take. Default: 15 minutes. */
  readonly totalMs: number;
  /** Wait for the completion notice of one URL (2025-11-25). Then the tool is called again. Default: 10 minutes. */
  readonly completionMs: number;
  /** Maximum number of calls after a −32042 (2025-11-25). Default: 5. */
  readonly retries: number;
  /** Maximum number of rounds that request new input (2026-07-28). Default: 10. */
  readonly inputRounds: number;
  /** Maximum number of rounds that repeat a URL after consent, accepted without asking (2026-07-28). Default: 10. */
  readonly repeats: number;
  /**
   * The pause before a round without new input (2026-07-28). It starts at `pollMinMs` (default 250) and doubles up to
   * `pollMaxMs` (default 5,000). Only `totalMs` limits the number of these rounds.
   */
  readonly pollMinMs: number;
  readonly pollMaxMs: number;
}

/** @throws {HostError} `invalid_options` */
export function parseLimits(limits: Partial<CallLimits> = {}): CallLimits {
  const parsed = limitsSchema.safeParse(limits);
  if (!parsed.success) throw new HostError('invalid_options', z.prettifyError(parsed.error));
  return parsed.data;
}
