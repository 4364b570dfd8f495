import type { Logger } from '../logger.ts';
import type { RequestClass } from './request-class.ts';

/** Between two lines, in ms. */
const PAUSE_MS = 10_000;

/** Tells operators that requests are turned away, and how many, without a line for each of them. */
export function createOverloadLog(logger: Logger, now: () => number = () => performance.now()) {
  const counts = new Map<string, number>();
  let nextAt = Number.NEGATIVE_INFINITY;
  return (requestClass: RequestClass | 'outbound', reason: string): void => {
    const what = `${requestClass}.${reason}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (now() < nextAt) return;
    nextAt = now() + PAUSE_MS;
    logger.warn({ event: 'overload.shed', shed: Object.fromEntries(counts) }, 'requests are turned away');
    counts.clear();
  };
}
