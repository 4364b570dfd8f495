import { describe, it } from 'vitest';
import { isShortRun } from './run-size.ts';

/** Takes the place of `it` and `describe`, and of their `each`, and defines nothing. */
const nothing = Object.assign(() => undefined, { each: () => () => undefined });
const leftOut: unknown = { it: nothing, describe: nothing };

type Tests = { readonly it: typeof it; readonly describe: typeof describe };

/**
 * `it` and `describe` for what the short run leaves out of a file: it is slow, or shows again in another way what a quicker test of that
 * run shows. `test --all` and a named path run it.
 */
export const inFull: Tests = isShortRun ? (leftOut as Tests) : { it, describe };
