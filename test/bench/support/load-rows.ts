import { figures } from './figures.ts';
import type { LoadResult } from './load.ts';
import { compared, type Row } from './row.ts';
import type { Pairs } from './statistics.ts';

/** Rows of a load test: rate, and processor time per request. */
export function loadRows(figure: string, baseline: string, pairs: Pairs<LoadResult>, target?: Row['target']): Row[] {
  return [
    compared(figure, 'requests/s', baseline, picked(pairs, 'perSecond'), target),
    compared(figures.cpu, 'µs each', baseline, picked(pairs, 'cpuPerRequest')),
  ];
}

const picked = (pairs: Pairs<LoadResult>, name: keyof LoadResult): Pairs<number> => ({
  ours: pairs.ours.map(result => result[name]),
  baseline: pairs.baseline.map(result => result[name]),
});
