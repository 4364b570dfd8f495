/**
 * `pnpm bench`: prints one row per figure with its ratio and target. Writes all samples of the run to a JSON file, with two plots.
 * README.md explains the rows.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { commandLine, refuseArguments } from '../../scripts/command-line.ts';
import { endOnSignals } from '../../test/support/end-with-us.ts';
import { plotResult } from './plot/plot-result.ts';
import { renderShares } from './profile/shares.ts';
import { writeReport } from './report.ts';
import { accessTokenRows } from './rows/access-token.ts';
import { consoleRows } from './rows/console.ts';
import { cycleRows } from './rows/cycle.ts';
import { footprintRows } from './rows/footprint.ts';
import { growthRows } from './rows/growth.ts';
import { isolationRows } from './rows/isolation.ts';
import { issueRows } from './rows/issue.ts';
import { onePersonRows } from './rows/one-person.ts';
import { stampedeRows } from './rows/stampede.ts';
import { waiterRows } from './rows/waiters.ts';
import { wakeRows } from './rows/wake.ts';
import type { MeasureGroup } from './support/bench.ts';
import { root } from './support/child.ts';
import { described, loadNow, shortName, thisMachine } from './support/machine.ts';
import { readResult, writeResult } from './support/result-file.ts';
import type { Row } from './support/row.ts';
import { isSweep, type Sweep } from './support/sweep.ts';
import { renderLimits, renderTable } from './support/table.ts';

const groups = {
  issue: issueRows,
  'access-token': accessTokenRows,
  stampede: stampedeRows,
  wake: wakeRows,
  cycle: cycleRows,
  footprint: footprintRows,
  'one-person': onePersonRows,
  growth: growthRows,
  waiters: waiterRows,
  isolation: isolationRows,
  console: consoleRows,
} satisfies Record<string, MeasureGroup>;

const { values } = commandLine({
  usage: 'bench',
  about: 'prints one row per figure, with its ratio and target',
  options: {
    quick: { type: 'boolean', default: false, about: 'run everything twice, briefly' },
    runs: { type: 'string', default: '5', about: 'run everything this many times instead of five' },
    only: { type: 'string', multiple: true, about: `only this group; repeatable: ${Object.keys(groups).join(', ')}` },
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

const unknown = (values.only ?? []).filter(name => !Object.hasOwn(groups, name));
if (unknown.length > 0) refuseArguments(`unknown: ${unknown.join(' ')} (known: ${Object.keys(groups).join(', ')})`);

const directory = mkdtempSync(join(tmpdir(), 'postern-bench-'));
const profileDir = values.profile === undefined ? undefined : resolve(values.profile);
if (profileDir !== undefined) mkdirSync(profileDir, { recursive: true });
const { quick } = values;
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) refuseArguments(`not a number of runs: ${values.runs}`);
const extent = quick ? { runs: 2, seconds: 2, samples: 60 } : { runs, seconds: 3, samples: 200 };

endOnSignals();

const machine = thisMachine();
const date = new Date().toISOString();
const before = loadNow();
try {
  const rows: Row[] = [];
  const sweeps: Sweep[] = [];
  for (const [name, measure] of Object.entries(groups)) {
    if (values.only !== undefined && !values.only.includes(name)) continue;
    const startedAt = performance.now();
    const measured: readonly (Row | Sweep)[] = await measure({ ...extent, quick, directory, profileDir });
    console.error(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    for (const result of measured) {
      if (isSweep(result)) sweeps.push(result);
      else rows.push(result);
    }
  }
  const result = { date, machine, load: { before, after: loadNow() }, runs: extent.runs, rows, sweeps };
  console.log(
    `\n${described(machine)}, ${date.slice(0, 10)}, ` +
      `load average before ${before.toFixed(1)}; ${extent.runs} runs in turn, median (smallest–largest)\n`,
  );
  console.log(renderTable(rows));
  const limits = renderLimits(rows, 'tools/bench/profiles.md');
  if (limits !== '') console.log(`\nNot met; what limits them:\n${limits}`);

  const results = join(root, 'tools/bench/results');
  mkdirSync(results, { recursive: true });
  // Only a full run is kept; git ignores the others.
  const kind = quick || values.only !== undefined ? '-partial' : '';
  const path = join(results, `${date.slice(0, 10)}-${shortName(machine)}${kind}.json`);
  writeResult(path, result);
  console.log(`\n${[path, ...plotResult(path, result)].join('\n')}`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit();
