import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type BenchResult, readResult, writeResult } from '../support/result-file.ts';
import { plotResult } from './plot-result.ts';
import { linearScale, logScale, short } from './scale.ts';
import { element, text, wrapped } from './svg.ts';

const result: BenchResult = {
  date: '2026-01-02T03:04:05.000Z',
  machine: { cpu: 'Some <CPU>', cores: 2, memoryBytes: 2 ** 34, kernel: '6.1', node: 'v26.0.0', redis: '7.0.0' },
  load: { before: 0.1, after: 1.5 },
  runs: 2,
  rows: [
    {
      figure: 'issue',
      unit: 'requests/s',
      ours: [80, 90],
      baseline: { name: 'bare', values: [100, 100] },
      target: { bound: 'at least', value: 0.6 },
    },
    { figure: 'memory', unit: 'MB', ours: [150, 160], target: { bound: 'at most', value: 120 } },
    { figure: 'for information', unit: 'ms', ours: [1, 2] },
  ],
  sweeps: [
    {
      name: 'growth',
      title: 'Live elicitations',
      x: { label: 'live elicitations', values: [1_000, 1_000_000] },
      series: [
        {
          label: 'issue',
          unit: 'µs',
          samples: [
            [100, 104],
            [101, 109],
          ],
        },
        {
          label: 'memory of Redis',
          unit: 'B',
          samples: [[1_400], [1_450]],
          target: { bound: 'at most', value: 1_500 },
        },
      ],
    },
  ],
};

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'postern-plot-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

test('a result file reads back as written and contains medians and verdicts', () => {
  const path = join(folder(), 'result.json');
  writeResult(path, result);
  expect(readResult(path)).toEqual(result);
  const [issue, memory, plain] = JSON.parse(readFileSync(path, 'utf8')).rows;
  expect(issue).toMatchObject({ median: 85, verdict: 'met' });
  expect(issue.medianRatio).toBeCloseTo(0.85);
  expect(memory).toMatchObject({ median: 155, verdict: 'missed' });
  expect(plain).not.toHaveProperty('verdict');
});

test('a drawing marks met and missed targets and names the machine, escaped', () => {
  const path = join(folder(), 'result.json');
  const [rows = '', sweeps = ''] = plotResult(path, result).map(drawn => readFileSync(drawn, 'utf8'));
  expect(rows.match(/<circle [^>]*class="met"/g)).toHaveLength(1);
  expect(rows.match(/<polygon [^>]*class="missed hollow"/g)).toHaveLength(1);
  expect(rows).not.toContain('undecided hollow"');
  expect(rows).toContain('Some &lt;CPU&gt;');
  expect(rows).not.toContain('for information');
  // Two units make two panels; every series has a curve.
  expect(sweeps.match(/<polyline /g)).toHaveLength(2);
  expect(sweeps.match(/class="target"/g)).toHaveLength(1);
  for (const svg of [rows, sweeps]) {
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg).toContain('prefers-color-scheme: dark');
  }
});

test('a drawing leaves open what its runs do not decide', () => {
  const target = { bound: 'at most', value: 120 } as const;
  const open = { ...result, rows: [{ figure: 'memory', unit: 'MB', ours: [100, 150], target }] };
  const [rows = ''] = plotResult(join(folder(), 'result.json'), open).map(drawn => readFileSync(drawn, 'utf8'));
  expect(rows.match(/class="undecided hollow"/g)).toHaveLength(1);
});

test('plotResult draws nothing without measurements', () => {
  expect(plotResult(join(folder(), 'result.json'), { ...result, rows: [], sweeps: [] })).toEqual([]);
});

test('scales have round ticks from zero or powers of the base, and short labels', () => {
  const linear = linearScale(95, 0, 100);
  expect(linear.ticks).toEqual([0, 20, 40, 60, 80, 100]);
  expect(linear.at(50)).toBeCloseTo(50);
  const log = logScale([1_000, 1_000_000], 10, 0, 300);
  expect(log.ticks).toHaveLength(4);
  expect(log.at(10_000)).toBeCloseTo(100);
  expect([950, 1_500, 1_000_000].map(short)).toEqual(['950', '1.5 k', '1 M']);
});

test('text is escaped and wrapped between words', () => {
  expect(text('a < b & "c"', { x: 1.234 })).toBe('<text x="1.2">a &lt; b &amp; &quot;c&quot;</text>');
  expect(element('line', { class: '"' })).toBe('<line class="&quot;"/>');
  expect(wrapped('one two three', 8)).toEqual(['one two', 'three']);
});
