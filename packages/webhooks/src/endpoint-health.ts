/** An endpoint that has answered with nothing but failures for so long is disabled: the retries of one delivery last as long. */
export const FAILING_LIMIT_MS = 72 * 3_600_000;

/** @param failingSince time of the first failure after the last success; undefined while there is none */
export function isToBeDisabled(failingSince: number | undefined, now: number): boolean {
  return failingSince !== undefined && now - failingSince >= FAILING_LIMIT_MS;
}
