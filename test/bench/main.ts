/**
 * `pnpm bench`: prints one row per figure with its ratio and its target. See README.md for what each row means.
 *
 * `--quick` two short runs of everything; `--only=<group>` one group (repeatable); `--profile=<folder>` CPU profiles of the
 * gateways and of the MCP server.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { accessTokenRows } from './rows/access-token.ts';
import { cycleRows } from './rows/cycle.ts';
import { footprintRows } from './rows/footprint.ts';
import { issueRows } from './rows/issue.ts';
import { stampedeRows } from './rows/stampede.ts';
import { wakeRows } from './rows/wake.ts';
import type { Bench } from './support/bench.ts';
import type { Row } from './support/row.ts';
import { renderTable } from './support/table.ts';

const groups = {
  issue: issueRows,
  'access-token': accessTokenRows,
  stampede: stampedeRows,
  wake: wakeRows,
  cycle: cycleRows,
  footprint: footprintRows,
} satisfies Record<string, (bench: Bench) => Promise<Row[]>>;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    profile: { type: 'string' },
  },
});

const unknown = (values.only ?? []).filter(name => !Object.hasOwn(groups, name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(' ')} (known: ${Object.keys(groups).join(', ')})`);
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'postern-bench-'));
const profileDir = values.profile === undefined ? undefined : resolve(values.profile);
if (profileDir !== undefined) mkdirSync(profileDir, { recursive: true });
const extent = values.quick ? { runs: 2, seconds: 2, samples: 60 } : { runs: 5, seconds: 3, samples: 200 };

// What else runs on the machine takes its share; a reader must be able to see that it did.
const busyBefore = loadavg()[0] ?? Number.NaN;
try {
  const rows: Row[] = [];
  for (const [name, measure] of Object.entries(groups)) {
    if (values.only !== undefined && !values.only.includes(name)) continue;
    console.error(`${name} …`);
    const measured = await measure({ ...extent, directory, profileDir });
    rows.push(...measured);
  }
  const [cpu] = cpus();
  console.log(
    `\nNode.js ${process.version}, ${availableParallelism()} × ${cpu?.model.trim() ?? 'unknown'}, ` +
      `${new Date().toISOString().slice(0, 10)}, load average before ${busyBefore.toFixed(1)}; ${extent.runs} runs in turn, median (smallest–largest)\n`,
  );
  console.log(renderTable(rows));
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit();
