import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commandOf } from './directed.ts';
import type { RunResult } from './runner.ts';
import type { Scenario } from './scenario.ts';

/** One row: the fault, its command, and the last result. */
interface Row {
  readonly item: string;
  readonly what: string;
  readonly command: string;
  readonly last: string;
}

const path = fileURLToPath(new URL('CATALOGUE.md', import.meta.url));
const HEAD = `# Fault catalogue

Each row has a fault, the command that runs it, and its last result. \`pnpm faults --record\` writes this file and keeps the rows of
scenarios that were not run. After every run the checker verifies the invariants I1 to I6 (README.md).

| item | fault | command | last result |
| --- | --- | --- | --- |
`;

/** Writes the results; other scenarios keep their last result. */
export function recordResults(
  results: readonly RunResult[],
  scenarios: readonly Scenario[],
  { date, isLong }: { readonly date: Date; readonly isLong: boolean },
): void {
  const known = lastResults();
  for (const own of Map.groupBy(results, ({ scenario }) => scenario).values()) {
    const [first] = own;
    if (first !== undefined)
      known.set(keyOf(first.scenario.item, cell(first.scenario.name)), lastOf(own, date, isLong));
  }
  const rows = scenarios.map(scenario =>
    rowOf(scenario, known.get(keyOf(scenario.item, cell(scenario.name))) ?? 'not run yet'),
  );
  rows.sort((one, other) => orderOf(one.item) - orderOf(other.item));
  writeFileSync(
    path,
    `${HEAD}${rows.map(row => `| ${row.item} | ${row.what} | ${row.command} | ${row.last} |`).join('\n')}\n`,
  );
}

const keyOf = (item: string, what: string) => `${item} ${what}`;
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const orderOf = (item: string) => item.charCodeAt(0) * 100 + Number(item.slice(1));

function rowOf(scenario: Scenario, last: string): Row {
  const long = scenario.length === 'long' ? ' --long' : '';
  const command =
    scenario.directed === undefined ? `pnpm faults --only=${scenario.item}${long}` : commandOf(scenario.directed);
  return { item: scenario.item, what: cell(scenario.name), command: `\`${cell(command)}\``, last: cell(last) };
}

function lastOf(results: readonly RunResult[], date: Date, isLong: boolean): string {
  const day = date.toISOString().slice(0, 10);
  const count = (outcome: RunResult['outcome']) => results.filter(result => result.outcome === outcome).length;
  if (count('skipped') === results.length) return `${day}: skipped, ${results[0]?.reasons.join(', ') ?? ''}`;
  const seeds = results.map(({ seed }) => seed);
  const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ seed }) => seed);
  const isDirected = results[0]?.scenario.directed !== undefined;
  const tried = isDirected ? '' : `, ${seeds.length === 1 ? 'seed' : 'seeds'} ${seedsText(seeds)}`;
  const verdict =
    failed.length === 0 ? `${count('passed')} passed` : `${failed.length} FAILED (seeds ${seedsText(failed)})`;
  const form = isLong && !isDirected ? ', long form' : '';
  return `${day}: ${verdict}${tried}${form}${measuresText(results)}`;
}

/** Formats seeds as a range if they are consecutive, else as a list. */
export function seedsText(seeds: readonly number[]): string {
  const sorted = seeds.toSorted((one, other) => one - other);
  const [first = 0] = sorted;
  const isRow = sorted.every((seed, at) => seed === first + at);
  return isRow && sorted.length > 2 ? `${first}–${first + sorted.length - 1}` : sorted.join(', ');
}

/** Formats the median of each figure. */
function measuresText(results: readonly RunResult[]): string {
  const all = results.flatMap(({ measures }) => measures);
  const texts = [...Map.groupBy(all, ({ name, unit }) => `${name}|${unit}`)].map(([key, own]) => {
    const [name = '', unit = ''] = key.split('|');
    const values = own.map(({ value }) => value).sort((one, other) => one - other);
    return `${name} ${rounded(values[Math.floor(values.length / 2)] ?? 0)}${unit === '' ? '' : ` ${unit}`}`;
  });
  return texts.length === 0 ? '' : `; ${texts.join(', ')}`;
}

export const rounded = (value: number): string =>
  Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(value < 1_000 ? 3 : 4)));

/** Returns the last result of each row in the catalogue. */
function lastResults(): Map<string, string> {
  if (!existsSync(path)) return new Map();
  const rows = readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => /^\| [A-Z]\d/.test(line));
  return new Map(
    rows.map(line => {
      const [item = '', what = '', , last = ''] = line
        .slice(2, -2)
        .split(/(?<!\\)\|/)
        .map(part => part.trim());
      return [keyOf(item, what), last.replaceAll('\\|', '|')];
    }),
  );
}
