import { z } from 'zod';
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

/** What bounds one tool call that needs the person. Times in milliseconds. */
export interface CallLimits {
  /** The whole call, people included. Default: 15 minutes. */
  readonly totalMs: number;
  /** Waiting for a completion notice, per URL (2025-11-25). Then the call is made once more. Default: 10 minutes. */
  readonly completionMs: number;
  /** Calls after a −32042 (2025-11-25). Default: 5. */
  readonly retries: number;
  /** Rounds that ask for input (2026-07-28). Default: 10. */
  readonly inputRounds: number;
  /** Rounds that ask for a URL again that was consented to (2026-07-28). They are answered without asking. Default: 10. */
  readonly repeats: number;
  /**
   * The pause before a round that only waits (2026-07-28): from `pollMinMs` (default 250) doubling up to `pollMaxMs`
   * (default 5,000). There is no limit to the number of such rounds but `totalMs`.
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
