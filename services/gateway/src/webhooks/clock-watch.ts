/** Receivers refuse what is signed more than five minutes off (Standard Webhooks), so it is said well before. */
const TOLERATED_MS = 120_000;
const QUIET_MS = 3_600_000;

/**
 * Compares this machine's clock with what receivers say in `Date` (RFC 9110 section 6.6.1): one that is off makes every signature
 * look old or early. Tells of it at most once an hour.
 */
export function createClockWatch(p: {
  readonly now: () => number;
  readonly onSkew: (skewSeconds: number) => void;
}): (date: string | null) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return date => {
    const now = p.now();
    const skew = now - Date.parse(date ?? '');
    if (!(Math.abs(skew) > TOLERATED_MS) || now < quietUntil) return;
    quietUntil = now + QUIET_MS;
    p.onSkew(Math.round(skew / 1000));
  };
}
