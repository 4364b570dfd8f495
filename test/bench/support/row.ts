import { median, type Pairs, ratios } from './statistics.ts';

/** One line of the table: a figure of ours, what it is held against, and what was aimed for. */
export interface Row {
  readonly figure: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** Absent where the target is an absolute number. */
  readonly baseline?: { readonly name: string; readonly values: readonly number[] };
  /** Of the ratio where there is a baseline, else of our own figure. Absent: shown for information. */
  readonly target?: { readonly bound: 'at least' | 'at most'; readonly value: number };
}

export type Target = NonNullable<Row['target']>;

export function compared(
  figure: string,
  unit: string,
  baselineName: string,
  pairs: Pairs<number>,
  target?: Target,
): Row {
  return {
    figure,
    unit,
    ours: pairs.ours,
    baseline: { name: baselineName, values: pairs.baseline },
    ...(target === undefined ? {} : { target }),
  };
}

export function ratiosOf(row: Row): readonly number[] | undefined {
  return row.baseline && ratios({ ours: row.ours, baseline: row.baseline.values });
}

/** Undefined where nothing was aimed for. */
export function isMet(row: Row): boolean | undefined {
  if (row.target === undefined) return undefined;
  const value = median(ratiosOf(row) ?? row.ours);
  return row.target.bound === 'at least' ? value >= row.target.value : value <= row.target.value;
}
