import type { Bound } from './row.ts';

/** Measurements at several sizes: a curve, where a row is a number. */
export interface Sweep {
  /** Short name for the file: `growth`, `waiters`. */
  readonly name: string;
  readonly title: string;
  readonly x: { readonly label: string; readonly values: readonly number[] };
  /** Series with the same unit share a panel. */
  readonly series: readonly Series[];
}

export interface Series {
  readonly label: string;
  readonly unit: string;
  /** All runs at all sizes, in the order of `x.values`. */
  readonly samples: readonly (readonly number[])[];
  /** Drawn as a line, in the unit of the series. The corresponding row decides about success. */
  readonly target?: Bound;
}

export function isSweep(result: object): result is Sweep {
  return 'series' in result;
}
