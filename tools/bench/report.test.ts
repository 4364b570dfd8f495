import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { documents, newestResult, reported } from './report.ts';
import { root } from './support/child.ts';
import { figures } from './support/figures.ts';
import { readResult, writeResult } from './support/result-file.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

test.each(Object.keys(documents))(
  '%s shows the newest full result: node tools/bench/main.ts --report=FILE',
  document => {
    expect(read(document)).toBe(reported(document, newestResult()));
  },
);

test('the sizing page computes what one vCPU, 1 GiB and 1 Gbit/s carry', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-report-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, '2026-01-02-result.json');
  const row = (figure: string, unit: string, ...ours: number[]) => ({ figure, unit, ours });
  writeResult(path, {
    ...readResult(newestResult()),
    rows: [
      row(figures.read, 'requests/s', 9000),
      row(figures.cpu, 'µs each', 60, 50, 70),
      row(figures.cycle, 'cycles/s', 500),
      row(figures.cycleGateway, 'µs each', 1200),
      row(figures.cycleTraffic, 'kB each', 12.5),
      row(figures.waiter, 'KiB', 8),
      row(figures.live, 'kB', 1.25),
    ],
  });
  const lines = reported('docs/sizing.md', path).split('\n');
  const cellsOf = (what: string) =>
    lines
      .find(line => line.startsWith(`| ${what} `))
      ?.split('|')
      .map(cell => cell.trim());
  expect(cellsOf('a cycle (C)')?.slice(3, 5)).toEqual(['1200 µs', '500 each second on one vCPU']);
  expect(cellsOf('a token read (R)')?.slice(3, 5)).toEqual(['60.0 µs', '10,000 each second on one vCPU']);
  expect(cellsOf('a cycle (N)')?.slice(3, 5)).toEqual(['12.5 kB', '10,000 each second on 1 Gbit/s']);
  expect(cellsOf('a waiting read (W)')?.slice(3, 5)).toEqual(['8.00 KiB', '130,000 in 1 GiB']);
  expect(cellsOf('a live elicitation (E)')?.slice(3, 5)).toEqual(['1.25 kB', '860,000 in 1 GiB']);
  expect(cellsOf('a user with one connection (U)')?.slice(3, 5)).toEqual(['not measured', '–']);
});

test('the sizing page names the resources that the Helm chart sets', () => {
  const chart = read('infra/helm/postern/values.yaml');
  const lines = /^resources:\n {2}(requests: .*)\n {2}(limits: .*)$/m.exec(chart)?.slice(1) ?? [];
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(read('docs/sizing.md')).toContain(`\`${line}\``);
});
