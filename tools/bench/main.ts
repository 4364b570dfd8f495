/**
 * `pnpm bench`: prints one row per figure with its ratio and target. Writes all samples of the run to a JSON file, with two plots.
 * README.md explains the rows.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { commandLine, refuseArguments } from '../../scripts/command-line.ts';
import { endOnSignals } from '../../test/support/end-with-us.ts';
import { compareRevisions, renderComparison } from './compare.ts';
import { type FailedGroup, groups, type Measured, runGroups } from './groups.ts';
import { plotResult } from './plot/plot-result.ts';
import { renderShares } from './profile/shares.ts';
import { writeReport } from './report.ts';
import { root } from './support/child.ts';
import { described, loadNow, shortName, thisMachine } from './support/machine.ts';
import { readResult, writeResult } from './support/result-file.ts';
import { renderLimits, renderTable } from './support/table.ts';

const { values } = commandLine({
  usage: 'bench',
  about: 'prints one row per figure, with its ratio and target',
  options: {
    quick: { type: 'boolean', default: false, about: 'run everything twice, briefly' },
    runs: { type: 'string', default: '5', about: 'run everything at most this many times instead of five' },
    only: { type: 'string', multiple: true, about: `only this group; repeatable: ${Object.keys(groups).join(', ')}` },
    compare: { type: 'string', about: 'compare this revision with the working tree, in turn' },
    profile: { type: 'string', about: 'write CPU profiles of the gateways and of the MCP server to this folder' },
    shares: { type: 'string', about: 'only show where the time of the profiles in this folder goes' },
    plot: { type: 'string', about: 'only draw this result file again' },
    report: { type: 'string', about: 'only write the tables of this result file into the documents' },
  },
});

if (values.shares !== undefined) {
  console.log(renderShares(resolve(values.shares)));
  process.exit();
}

if (values.plot !== undefined) {
  const path = resolve(values.plot);
  for (const drawn of plotResult(path, readResult(path))) console.log(drawn);
  process.exit();
}

if (values.report !== undefined) {
  for (const written of writeReport(resolve(values.report))) console.log(written);
  process.exit();
}

const { quick, only } = values;
const unknown = (only ?? []).filter(name => !Object.hasOwn(groups, name));
if (unknown.length > 0) refuseArguments(`unknown: ${unknown.join(' ')} (known: ${Object.keys(groups).join(', ')})`);
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) refuseArguments(`not a number of runs: ${values.runs}`);

endOnSignals();

if (values.compare !== undefined) {
  const each = (only ?? []).map(name => `--only=${name}`);
  const figures = await compareRevisions({
    revision: values.compare,
    rounds: quick ? 2 : runs,
    args: quick ? ['--quick', ...each] : ['--runs=1', ...each],
  });
  console.log(`\n${described(thisMachine())}, load average ${loadNow().toFixed(1)}\n`);
  console.log(renderComparison(values.compare, figures));
  process.exit();
}

const directory = mkdtempSync(join(tmpdir(), 'postern-bench-'));
const profileDir = values.profile === undefined ? undefined : resolve(values.profile);
if (profileDir !== undefined) mkdirSync(profileDir, { recursive: true });
const extent = quick ? { runs: 2, seconds: 2, samples: 60 } : { runs, seconds: 3, samples: 200 };

const machine = thisMachine();
const date = new Date().toISOString();
const before = loadNow();
const results = join(root, 'tools/bench/results');
mkdirSync(results, { recursive: true });
const name = `${date.slice(0, 10)}-${shortName(machine)}`;
// Only a full run is kept; git ignores the others.
const partial = join(results, `${name}-partial.json`);

const resultOf = (measured: Measured) => ({
  date,
  machine,
  load: { before, after: loadNow() },
  runs: extent.runs,
  ...measured,
});

let all: Measured = { rows: [], sweeps: [] };
let failures: readonly FailedGroup[];
try {
  failures = await runGroups(
    {
      groups: Object.fromEntries(Object.entries(groups).filter(([group]) => only?.includes(group) ?? true)),
      bench: { ...extent, quick, directory, profileDir },
      fail: ({ name: group, cause }) => console.error(`${group}: FAILED, ${cause}`),
    },
    (group, measured) => {
      all = measured;
      console.error(`${group.name}: ${group.seconds.toFixed(0)} s`);
      console.log(`${renderTable(group.measured.rows)}\n`);
      writeResult(partial, resultOf(all));
    },
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}

console.log(
  `\n${described(machine)}, ${date.slice(0, 10)}, ` +
    `load average before ${before.toFixed(1)}; up to ${extent.runs} runs in turn, median (smallest–largest)\n`,
);
console.log(renderTable(all.rows));
const limits = renderLimits(all.rows, 'tools/bench/profiles.md');
if (limits !== '') console.log(`\nNot met; what limits them:\n${limits}`);
if (failures.length > 0)
  console.log(`\nNot measured:\n${failures.map(({ name: group, cause }) => `${group}: ${cause}`).join('\n')}`);

const isFull = !quick && only === undefined && failures.length === 0;
const path = isFull ? join(results, `${name}.json`) : partial;
if (isFull) {
  // Only the newest is kept.
  for (const file of readdirSync(results)) if (/\.(?:json|svg)$/.test(file)) rmSync(join(results, file));
}
writeResult(path, resultOf(all));
console.log(
  `\n${[path, ...plotResult(path, resultOf(all))].map(each => join('tools/bench/results', basename(each))).join('\n')}`,
);
process.exit(failures.length > 0 ? 1 : 0);
