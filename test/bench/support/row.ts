import { definedOnly } from '@postern/elicitation';
import { median, type Pairs, ratios } from './statistics.ts';

/** One line of the table: our figure, its baseline and its target. */
export interface Row {
  readonly figure: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** Absent if the target is an absolute number. */
  readonly baseline?: { readonly name: string; readonly values: readonly number[] };
  /** Target of the ratio if there is a baseline, else of our figure. Absent: for information only. */
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
    ...definedOnly({ target }),
  };
}

export function ratiosOf(row: Row): readonly number[] | undefined {
  return row.baseline && ratios({ ours: row.ours, baseline: row.baseline.values });
}

/** Undefined without a target. */
export function isMet(row: Row): boolean | undefined {
  if (row.target === undefined) return undefined;
  const value = median(ratiosOf(row) ?? row.ours);
  return row.target.bound === 'at least' ? value >= row.target.value : value <= row.target.value;
}
