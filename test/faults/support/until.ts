import { setTimeout as delay } from 'node:timers/promises';
import { HANG_MS } from '../hang.ts';

/**
 * Polls until the check holds. A check that throws counts as failed.
 * @returns the duration, in ms
 * @throws after `withinMs`, naming the condition
 */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  withinMs = HANG_MS,
  everyMs = 50,
): Promise<number> {
  const began = performance.now();
  let last: unknown;
  while (performance.now() - began < withinMs) {
    try {
      if (await holds()) return performance.now() - began;
    } catch (error) {
      last = error;
    }
    await delay(everyMs);
  }
  throw new Error(`not within ${withinMs} ms: ${what}`, { cause: last });
}
