import { expect, test } from 'vitest';
import { comparedFigures, renderComparison } from './compare.ts';
import { type StoredRow, verdictOf } from './support/row.ts';
import { sideOf } from './support/statistics.ts';
import { renderTable } from './support/table.ts';

test.each([
  ['all below', [1, 2, 3], 10, 'below'],
  ['all above', [20, 21], 10, 'above'],
  ['exactly the limit', [0, 0], 0, 'at'],
  ['one run', [9], 10, 'below'],
  ['as far apart as from the limit', [8, 10], 11, 'below'],
  ['farther apart than from the limit', [8, 10.1], 11, 'undecided'],
  ['on both sides', [9, 11], 10, 'undecided'],
  ['no value', [], 10, 'undecided'],
  ['no number', [Number.NaN], 10, 'undecided'],
] as const)('where runs are, seen from a limit: %s', (_, values, limit, side) => {
  expect(sideOf(values, limit)).toBe(side);
});

const row = (ours: readonly number[], more: Partial<StoredRow>): StoredRow => ({
  figure: 'a',
  unit: 'ms',
  ours,
  ...more,
});
const atMost = { target: { bound: 'at most', value: 10 } } as const;
const atLeast = { target: { bound: 'at least', value: 0.8 } } as const;
const baseline = { name: 'bare', values: [100, 100] };

test.each([
  ['met', row([5, 6], atMost)],
  ['met', row([10], atMost)],
  ['missed', row([30, 31], atMost)],
  ['undecided', row([5, 12], atMost)],
  ['met', row([95, 94], { baseline, ...atLeast })],
  ['missed', row([50, 52], { baseline, ...atLeast })],
  ['undecided', row([70, 85], { baseline, ...atLeast })],
  [undefined, row([5, 6], {})],
] as const)('a target is %s', (verdict, measured) => {
  expect(verdictOf(measured)).toBe(verdict);
});

test('the table says what this machine cannot decide', () => {
  expect(renderTable([row([5, 12], atMost)])).toContain('| cannot be decided here |');
});

test('two revisions are compared figure by figure, by the ratio of each round', () => {
  const side = (rate: number, first: number, second: number) => [
    row([rate], { figure: 'rate', unit: 'requests/s' }),
    row([first], { figure: '  p99' }),
    row([second], { figure: '  p99' }),
  ];
  const before = [...side(100, 10, 5), row([1], { figure: 'gone' })];
  const after = [...side(150, 10, 4), row([1], { figure: 'new' })];
  const figures = comparedFigures([
    { before, after },
    { before, after: side(160, 10, 7) },
  ]);
  expect(figures).toEqual([
    { figure: 'rate', unit: 'requests/s', before: [100, 100], after: [150, 160] },
    { figure: '  p99', unit: 'ms', before: [10, 10], after: [10, 10] },
    { figure: '  p99', unit: 'ms', before: [5, 5], after: [4, 7] },
  ]);
  const [, , ...lines] = renderComparison('v1', figures).split('\n');
  expect(lines.map(line => line.split('|').map(cell => cell.trim()))).toEqual([
    ['', 'rate', '100 requests/s', '155 requests/s', '1.55', '1.50–1.60', 'more', ''],
    ['', 'p99', '10.00 ms', '10.00 ms', '1.00', '1.00–1.00', 'the same', ''],
    ['', 'p99', '5.00 ms', '5.50 ms', '1.10', '0.80–1.40', 'cannot be decided here', ''],
  ]);
});
