import { type Pairs, ratios, sideOf } from './statistics.ts';

/** Headings of profiles.md. Each section says where the time or the memory of its rows goes, and what limits them. */
export const profileSections = [
  'issue',
  'access-token',
  'stampede',
  'wake',
  'cycle',
  'start',
  'idle-memory',
  'one-person',
  'proxy',
  'sizes',
  'growth',
  'redis-memory',
  'waiting-read',
  'waiters',
  'isolation',
  'console',
] as const;
export type ProfileSection = (typeof profileSections)[number];

/** A limit of the ratio if there is a baseline, else of our figure. */
export interface Bound {
  readonly bound: 'at least' | 'at most';
  readonly value: number;
}

export interface Target extends Bound {
  /** Explains the row if the target is not met. */
  readonly profile: ProfileSection;
}

/** One line of the table: our figure, its baseline and its target. */
export interface Row {
  readonly figure: string;
  readonly unit: string;
  readonly ours: readonly number[];
  /** Absent if the target is an absolute number. */
  readonly baseline?: { readonly name: string; readonly values: readonly number[] };
  /** Absent: for information only. */
  readonly target?: Target;
}

/** A row as a result file has it. Files of earlier versions name no section. */
export type StoredRow = Omit<Row, 'target'> & { readonly target?: Bound & Partial<Target> };

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
    target,
  };
}

export function ratiosOf(row: StoredRow): readonly number[] | undefined {
  return row.baseline && ratios({ ours: row.ours, baseline: row.baseline.values });
}

/** `undecided`: on this machine, at this time, the runs differ by more than their median differs from the target. */
export type Verdict = 'met' | 'missed' | 'undecided';

/** Undefined without a target. */
export function verdictOf(row: StoredRow): Verdict | undefined {
  if (row.target === undefined) return undefined;
  const side = sideOf(ratiosOf(row) ?? row.ours, row.target.value);
  if (side === 'undecided') return side;
  return side === (row.target.bound === 'at least' ? 'below' : 'above') ? 'missed' : 'met';
}
