/** The middle of a sample; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** One side measured against the other, in turn. */
export interface Pairs<T> {
  readonly ours: readonly T[];
  readonly baseline: readonly T[];
}

/** Both sides in turn (A B A B …), so that whatever slows the machine down for a while slows down both. */
export async function interleave<T>(
  runs: number,
  ours: () => Promise<T>,
  baseline: () => Promise<T>,
): Promise<Pairs<T>> {
  const pairs = { ours: [] as T[], baseline: [] as T[] };
  for (let run = 0; run < runs; run += 1) {
    pairs.ours.push(await ours());
    pairs.baseline.push(await baseline());
  }
  return pairs;
}

/** Of each run of ours to the run of the baseline that came right after it. */
export function ratios({ ours, baseline }: Pairs<number>): number[] {
  return ours.map((value, run) => value / (baseline[run] ?? Number.NaN));
}
