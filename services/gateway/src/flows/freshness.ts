/** What changes who a person is to us is done only by somebody who signed in this recently. */
export const FRESH_SECONDS = 300;

/** By how much the clock of an identity provider or an application may run ahead of ours. */
const AHEAD_MS = 60_000;

/**
 * Whether somebody signed in at `authTime` (epoch milliseconds) has done so within `withinMs`. A sign-in in the future is none: the
 * clock there is wrong, or the time is in another unit, and it would stay fresh for years.
 */
export function isFresh(authTime: number | undefined, withinMs: number, now: number): boolean {
  return authTime !== undefined && authTime <= now + AHEAD_MS && now - authTime <= withinMs;
}
