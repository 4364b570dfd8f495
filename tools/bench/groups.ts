/** The groups of the benchmark, one after the other. */
import { accessTokenRows } from './rows/access-token.ts';
import { consoleRows } from './rows/console.ts';
import { cycleRows } from './rows/cycle.ts';
import { footprintRows } from './rows/footprint.ts';
import { growthRows } from './rows/growth.ts';
import { isolationRows } from './rows/isolation.ts';
import { issueRows } from './rows/issue.ts';
import { onePersonRows } from './rows/one-person.ts';
import { proxyRows } from './rows/proxy.ts';
import { stampedeRows } from './rows/stampede.ts';
import { waiterRows } from './rows/waiters.ts';
import { wakeRows } from './rows/wake.ts';
import type { Bench, MeasureGroup } from './support/bench.ts';
import type { Row } from './support/row.ts';
import { isSweep, type Sweep } from './support/sweep.ts';

interface Group {
  readonly measure: MeasureGroup;
  /** Minutes of a whole run. A group that has used up its time begins no further round. Together twelve, with their last rounds. */
  readonly minutes: number;
}

export const groups = {
  issue: { measure: issueRows, minutes: 0.75 },
  'access-token': { measure: accessTokenRows, minutes: 0.5 },
  stampede: { measure: stampedeRows, minutes: 0.5 },
  wake: { measure: wakeRows, minutes: 0.5 },
  cycle: { measure: cycleRows, minutes: 0.75 },
  footprint: { measure: footprintRows, minutes: 1 },
  'one-person': { measure: onePersonRows, minutes: 1 },
  proxy: { measure: proxyRows, minutes: 0.5 },
  growth: { measure: growthRows, minutes: 1 },
  waiters: { measure: waiterRows, minutes: 1.25 },
  isolation: { measure: isolationRows, minutes: 1 },
  console: { measure: consoleRows, minutes: 1.25 },
} satisfies Record<string, Group>;

/** What has been measured so far. */
export interface Measured {
  readonly rows: readonly Row[];
  readonly sweeps: readonly Sweep[];
}

interface GroupReport {
  readonly name: string;
  readonly seconds: number;
  readonly measured: Measured;
}

/** A group that could not be measured. */
export interface FailedGroup {
  readonly name: string;
  /** One line. */
  readonly cause: string;
}

/**
 * Measures the groups in turn, and reports each as soon as it is done. A failed one does not keep the others from running.
 * @param report gets the group, and all that has been measured
 * @returns the groups that failed
 */
export async function runGroups(
  p: {
    readonly groups: Readonly<Record<string, Group>>;
    readonly bench: Omit<Bench, 'until'>;
    readonly fail: (failed: FailedGroup) => void;
  },
  report: (group: GroupReport, all: Measured) => void,
): Promise<readonly FailedGroup[]> {
  const failures: FailedGroup[] = [];
  const all = { rows: [] as Row[], sweeps: [] as Sweep[] };
  // What a group leaves over, the next may use.
  let until = performance.now();
  for (const [name, { measure, minutes }] of Object.entries(p.groups)) {
    until += minutes * 60_000;
    const startedAt = performance.now();
    try {
      const results = await measure({ ...p.bench, until });
      const measured = {
        rows: results.filter((each): each is Row => !isSweep(each)),
        sweeps: results.filter(isSweep),
      };
      all.rows.push(...measured.rows);
      all.sweeps.push(...measured.sweeps);
      report({ name, seconds: (performance.now() - startedAt) / 1000, measured }, all);
    } catch (error) {
      const failed = { name, cause: causeOf(error) };
      failures.push(failed);
      p.fail(failed);
    }
  }
  return failures;
}

/** The message in one line, and the place in our code that it comes from. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [, place] = /\/(tools\/bench\/[^\s)]+)/.exec(error.stack?.split('\n    at ').slice(1).join('\n') ?? '') ?? [];
  const message = error.message.replaceAll(/\s+/g, ' ').trim();
  return `${error.name}: ${message}${place === undefined ? '' : ` (${place})`}`;
}
