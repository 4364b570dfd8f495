import { describe, it } from 'vitest';
import { isShortRun } from './run-size.ts';

interface Tests {
  readonly it: typeof it;
  readonly describe: typeof describe;
}

/** Takes the place of `it` and `describe`, and of their `each`, and defines nothing. */
const nothing = Object.assign(() => undefined, { each: () => () => undefined });
const leftOut: unknown = { it: nothing, describe: nothing };

/**
 * `it` and `describe` for what the short run leaves out of a file: it is slow, or shows again in another way what a quicker test of that
 * run shows. `test --all` and a named path run it.
 */
export const inFull: Tests = isShortRun ? (leftOut as Tests) : { it, describe };
