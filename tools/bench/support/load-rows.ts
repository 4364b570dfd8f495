import { figures } from './figures.ts';
import type { LoadResult } from './load.ts';
import { compared, type Row, type Target } from './row.ts';
import type { Pairs } from './statistics.ts';

/** Rows of a load test: rate, and processor time per request. */
export function loadRows(figure: string, baseline: string, pairs: Pairs<LoadResult>): Row[] {
  return [
    compared(figure, 'requests/s', baseline, picked(pairs, 'perSecond')),
    compared(figures.cpu, 'µs each', baseline, picked(pairs, 'cpuPerRequest')),
  ];
}

/** Compares with the handler of the ceiling that does what the checks need in any design. */
export const checkedRow = (figure: string, pairs: Pairs<LoadResult>, target: Target): Row =>
  compared(
    `${figure}, processor time`,
    'µs each',
    'handler with the same checks',
    picked(pairs, 'cpuPerRequest'),
    target,
  );

const picked = (pairs: Pairs<LoadResult>, name: keyof LoadResult): Pairs<number> => ({
  ours: pairs.ours.map(result => result[name]),
  baseline: pairs.baseline.map(result => result[name]),
});
