/** Median of a sample; the mean of the two middle values of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** Where a figure is, seen from a limit. `undecided`: its runs differ by more than their median differs from the limit. */
export type Side = 'below' | 'at' | 'above' | 'undecided';

export function sideOf(values: readonly number[], limit: number): Side {
  const middle = median(values);
  const spread = Math.max(...values) - Math.min(...values);
  // Also without a value.
  if (!(spread <= Math.abs(middle - limit))) return 'undecided';
  if (middle === limit) return 'at';
  return middle < limit ? 'below' : 'above';
}

/** How often a group measures. */
export interface Rounds {
  readonly runs: number;
  /** Reading of `performance.now()` after which no further run begins, once there are two. */
  readonly until: number;
}

/** Two show a spread. */
const LEAST_RUNS = 2;

/** The numbers of the runs, as many as the time permits. @param from negative if the first runs are warm-ups */
export function* rounds({ runs, until }: Rounds, from = 0): Generator<number> {
  for (let run = from; run < runs && (run < LEAST_RUNS || performance.now() < until); run += 1) yield run;
}

/** Paired samples of two sides, measured alternately. */
export interface Pairs<Ours, Baseline = Ours> {
  readonly ours: readonly Ours[];
  readonly baseline: readonly Baseline[];
}

/** Measures both sides alternately (A B A B …), so that slow phases of the machine affect both. */
export async function interleave<Ours, Baseline = Ours>(
  extent: Rounds,
  ours: () => Promise<Ours>,
  baseline: () => Promise<Baseline>,
): Promise<Pairs<Ours, Baseline>> {
  const pairs = { ours: [] as Ours[], baseline: [] as Baseline[] };
  for (const _ of rounds(extent)) {
    pairs.ours.push(await ours());
    pairs.baseline.push(await baseline());
  }
  return pairs;
}

/** Ratio of each of our runs to the baseline run right after it. */
export function ratios({ ours, baseline }: Pairs<number>): number[] {
  return ours.map((value, run) => value / (baseline[run] ?? Number.NaN));
}
