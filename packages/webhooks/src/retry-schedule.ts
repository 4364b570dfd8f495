const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first, second, … failed attempt, before jitter. Together a little over 72 hours. */
const pauses = [
  5 * SECOND,
  30 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  18 * HOUR,
  23 * HOUR,
] as const;

/** Nobody is made to hold a delivery for longer than this by a `Retry-After`. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;

/** Share of a pause by which it may become longer, so that what failed together is not tried again together. */
const JITTER = 0.15;

/** Attempts at one delivery, the first included. */
export const DELIVERY_ATTEMPTS = pauses.length + 1;

/**
 * How long to wait after a failed attempt; undefined when it was the last.
 * @param attempt 1 for the first
 * @param p.random 0 to 1: chance, from outside
 * @param p.retryAfterMs what the receiver asked for; a longer wait than planned, never a shorter one
 */
export function retryDelayMs(
  attempt: number,
  p: { readonly random: number; readonly retryAfterMs?: number | undefined },
): number | undefined {
  const pause = pauses[attempt - 1];
  if (pause === undefined) return undefined;
  const asked = Math.min(p.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.round(Math.max(pause, asked) * (1 + JITTER * p.random));
}
