import type { Target } from './row.ts';

/** What was measured at each of several sizes of the same thing: a curve where a row is a number. */
export interface Sweep {
  /** A short word, for the file: `growth`, `waiters`. */
  readonly name: string;
  readonly title: string;
  readonly x: { readonly label: string; readonly values: readonly number[] };
  /** Those with the same unit share a panel. */
  readonly series: readonly Series[];
}

export interface Series {
  readonly label: string;
  readonly unit: string;
  /** Every run at every size, in the order of `x.values`. */
  readonly samples: readonly (readonly number[])[];
  /** In the unit of the series; drawn as a line. What decides about success is the row that belongs to it. */
  readonly target?: Target;
}

export function isSweep(result: object): result is Sweep {
  return 'series' in result;
}
