/** The tables of the documents that show a result file. Each is between two comments of its document: `<!-- bench -->` and `<!-- /bench -->`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { markdownTable } from '../../test/support/markdown-table.ts';
import { root } from './support/child.ts';
import { figures } from './support/figures.ts';
import { described } from './support/machine.ts';
import { type BenchResult, readResult } from './support/result-file.ts';
import { type StoredRow, type Verdict, verdictOf } from './support/row.ts';
import { median } from './support/statistics.ts';
import { renderTable } from './support/table.ts';

const RESULTS = join(root, 'tools/bench/results');

/** The newest result of a full run. */
export function newestResult(): string {
  const newest = readdirSync(RESULTS)
    .filter(name => name.endsWith('.json') && !name.includes('-partial'))
    .toSorted()
    .at(-1);
  if (newest === undefined) throw new Error('there is no result of a full run');
  return join(RESULTS, newest);
}

type Render = (result: BenchResult, path: string) => string;

const measuredOn = ({ date, machine, runs }: BenchResult, path: string, document: string) =>
  `Measured on ${date.slice(0, 10)} in ${runs} runs: ${described(machine)}. [All samples](${relative(join(root, document, '..'), path)}).`;

/** What each document shows of a result. */
export const documents: Readonly<Record<string, Render>> = {
  'tools/bench/README.md': (result, path) => {
    const targeted = result.rows.filter(row => row.target !== undefined);
    const count = (verdict: Verdict) => targeted.filter(row => verdictOf(row) === verdict).length;
    const counts = `${count('met')} of ${targeted.length} targets are met, ${count('missed')} are not`;
    const heading = `${measuredOn(result, path, 'tools/bench/README.md')} ${counts}.`;
    return `${heading}\n\n${renderTable(result.rows, 'profiles.md')}`;
  },
  'docs/sizing.md': (result, path) => `${measuredOn(result, path, 'docs/sizing.md')}\n\n${sizingTable(result.rows)}`,
};

/** The document with the tables of this result. @throws Error if it has no place for them */
export function reported(document: string, path: string): string {
  const text = readFileSync(join(root, document), 'utf8');
  const place = /(?<=<!-- bench -->\n).*?(?=<!-- \/bench -->)/s;
  const block = documents[document]?.(readResult(path), path);
  if (block === undefined || !place.test(text)) throw new Error(`${document} has no place for the benchmark`);
  return text.replace(place, () => `\n${block}\n\n`);
}

/** Writes the tables into all documents. @returns their names */
export function writeReport(path: string): readonly string[] {
  return Object.keys(documents).map(document => {
    writeFileSync(join(root, document), reported(document, path));
    return document;
  });
}

/** The part of one process that load may use: the rest is for peaks. */
const UTILISATION = 0.6;

/** Median of a figure. `under` is the row that an indented figure follows. Undefined if the result has no such row. */
function figureOf(rows: readonly StoredRow[], figure: string, under?: string): number | undefined {
  const from = under === undefined ? 0 : rows.findIndex(row => row.figure === under);
  const found = from === -1 ? undefined : rows.slice(from).find(row => row.figure.startsWith(figure));
  return found && median(found.ours);
}

const rounded = (value: number) => Number(value.toPrecision(2)).toLocaleString('en-GB');
const amount = (value: number, unit: string) =>
  `${value >= 100 ? Math.round(value) : value.toFixed(value >= 10 ? 1 : 2)} ${unit}`;

/** One figure of docs/sizing.md: its letter in the formulas, what it loads, and how much of it one unit carries. */
interface Cost {
  readonly what: string;
  readonly resource: string;
  readonly value: number | undefined;
  readonly unit: 'µs' | 'kB' | 'KiB' | 'MB';
}

/** A vCPU, 1 Gbit/s or 1 GiB, by unit. A process has its memory once. */
const carries = ({ unit, resource }: Cost, value: number): string => {
  if (unit === 'µs') return `${rounded((1e6 / value) * UTILISATION)} each second on one vCPU`;
  if (unit === 'MB') return '–';
  if (resource === 'network') return `${rounded(125_000 / value)} each second on 1 Gbit/s`;
  return `${rounded(2 ** 30 / (value * (unit === 'KiB' ? 1024 : 1000)))} in 1 GiB`;
};

function sizingTable(rows: readonly StoredRow[]): string {
  const { cycle } = figures;
  const of = (figure: string, under?: string) => figureOf(rows, figure, under);
  const costs: readonly Cost[] = [
    { what: 'a cycle (C)', resource: 'gateway processor', value: of(figures.cycleGateway, cycle), unit: 'µs' },
    { what: 'a token read (R)', resource: 'gateway processor', value: of(figures.cpu, figures.read), unit: 'µs' },
    { what: 'a cycle (D)', resource: 'Redis processor', value: of(figures.cycleRedis, cycle), unit: 'µs' },
    { what: 'a cycle (N)', resource: 'network', value: of(figures.cycleTraffic, cycle), unit: 'kB' },
    { what: 'a first page (P)', resource: 'network', value: of(figures.page), unit: 'kB' },
    { what: 'an idle gateway', resource: 'gateway memory', value: of(figures.idle), unit: 'MB' },
    {
      what: 'a busy gateway (M)',
      resource: 'gateway memory',
      value: of(figures.issueMemory, figures.issue),
      unit: 'MB',
    },
    { what: 'a waiting read (W)', resource: 'gateway memory', value: of(figures.waiter), unit: 'KiB' },
    { what: 'a live elicitation (E)', resource: 'Redis memory', value: of(figures.live), unit: 'kB' },
    { what: 'an ended elicitation (H)', resource: 'Redis memory', value: of(figures.ended), unit: 'kB' },
    { what: 'a user with one connection (U)', resource: 'Redis memory', value: of(figures.connected), unit: 'kB' },
  ];
  return markdownTable(
    ['what', 'costs', 'measured', 'so it carries'],
    costs.map(each => {
      const { what, resource, value, unit } = each;
      const measured = value === undefined ? ['not measured', '–'] : [amount(value, unit), carries(each, value)];
      return [what, resource, ...measured];
    }),
  );
}
