/** Median of a sample; the mean of the two middle values of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** Paired samples of two sides, measured alternately. */
export interface Pairs<Ours, Baseline = Ours> {
  readonly ours: readonly Ours[];
  readonly baseline: readonly Baseline[];
}

/** Measures both sides alternately (A B A B …), so that slow phases of the machine affect both. */
export async function interleave<Ours, Baseline = Ours>(
  runs: number,
  ours: () => Promise<Ours>,
  baseline: () => Promise<Baseline>,
): Promise<Pairs<Ours, Baseline>> {
  const pairs = { ours: [] as Ours[], baseline: [] as Baseline[] };
  for (let run = 0; run < runs; run += 1) {
    pairs.ours.push(await ours());
    pairs.baseline.push(await baseline());
  }
  return pairs;
}

/** Ratio of each of our runs to the baseline run right after it. */
export function ratios({ ours, baseline }: Pairs<number>): number[] {
  return ours.map((value, run) => value / (baseline[run] ?? Number.NaN));
}
