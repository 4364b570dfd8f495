import { UnknownRecordLayoutError } from '@postern/elicitation';
import type { Logger } from './logger.ts';

/** How long the same layout is not told of again. */
const QUIET_MS = 60_000;

/**
 * Tells the operator which layout of stored records this release cannot read: another release shares the store and has been told to
 * write it already, or has been taken back too early. Whoever asked for such a record is to ask again, and it stays as it is.
 * @returns to be called with any error; true for one that was about that.
 */
export function createUnknownLayoutLog(p: { logger: Logger; now: () => number }): (error: unknown) => boolean {
  const quietUntil = new Map<number | undefined, number>();
  return error => {
    if (!(error instanceof UnknownRecordLayoutError)) return false;
    const { layout } = error;
    if ((quietUntil.get(layout) ?? 0) > p.now()) return true;
    quietUntil.set(layout, p.now() + QUIET_MS);
    p.logger.error(
      { event: 'store.unknown_layout', layout: layout ?? 'none' },
      'stored records of a layout that this release cannot read are left as they are',
    );
    return true;
  };
}
