import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { check } from './checker.ts';
import type { Violation } from './checks/violation.ts';
import { runDirected } from './directed.ts';
import { HANG_MS } from './hang.ts';
import { openHistory } from './history.ts';
import { missingNeeds } from './needs.ts';
import { seededRandom } from './random.ts';
import type { FaultRun, Scenario } from './scenario.ts';

export interface Measure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface RunResult {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Reasons for failing or skipping. */
  readonly reasons: readonly string[];
  readonly measures: readonly Measure[];
  readonly seconds: number;
  /** Path of the history of a failed run. */
  readonly historyPath: string | undefined;
}

export interface RunOptions {
  readonly seed: number;
  readonly isLong: boolean;
  readonly isTimed: boolean;
  /** Directory for histories; only those of failures are kept. */
  readonly directory: string;
}

const TIMEOUT_MS = 2 * HANG_MS;

/** Runs one scenario with one seed and checks its history. Returns failures instead of throwing. */
export async function runScenario(
  scenario: Scenario,
  { seed, isLong, isTimed, directory }: RunOptions,
): Promise<RunResult> {
  const began = performance.now();
  const measures: Measure[] = [];
  const result = (outcome: RunResult['outcome'], reasons: readonly string[], historyPath?: string): RunResult => ({
    scenario,
    seed,
    outcome,
    reasons,
    measures,
    historyPath,
    seconds: (performance.now() - began) / 1000,
  });
  const missing = await missingNeeds(scenario.needs ?? []);
  if (missing.length > 0) return result('skipped', missing);
  if (scenario.directed !== undefined) {
    const failure = await runDirected(scenario.directed);
    return failure === undefined ? result('passed', []) : result('failed', [failure]);
  }

  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${fileNameOf(scenario)}-${seed}.jsonl`);
  const history = openHistory({ path });
  const stack = new AsyncDisposableStack();
  const run: FaultRun = {
    seed,
    isLong,
    isTimed,
    history,
    stack,
    random: seededRandom(seed),
    measure: (name, value, unit) => void measures.push({ name, value, unit }),
  };
  const reasons: string[] = [];
  try {
    await bounded(scenario.run(run), scenario.timeoutMs ?? TIMEOUT_MS);
  } catch (error) {
    reasons.push(...messagesOf(error));
  }
  try {
    await bounded(stack.disposeAsync(), HANG_MS);
  } catch (error) {
    reasons.push(...messagesOf(error).map(message => `at its end: ${message}`));
  }
  const violations = check(history.entries);
  for (const [invariant, own] of Map.groupBy(
    violations.filter(({ tolerated }) => tolerated),
    violation => violation.invariant,
  ))
    run.measure(`documented losses of ${invariant}`, own.length, '');
  reasons.push(...violations.filter(({ tolerated }) => !tolerated).map(textOf));
  history[Symbol.dispose]();
  if (reasons.length > 0) {
    // Process output, for analysis.
    for (const [source, lines] of history.logs)
      writeFileSync(`${path.slice(0, -'.jsonl'.length)}.${source}.log`, `${lines.join('\n')}\n`, { mode: 0o600 });
    return result('failed', reasons, path);
  }
  rmSync(path);
  return result('passed', []);
}

const textOf = ({ invariant, elicitationId, message }: Violation) =>
  `${invariant}${elicitationId === undefined ? '' : ` ${elicitationId}`}: ${message}`;

/** Returns the error itself, or the members of an AggregateError. */
function messagesOf(error: unknown): string[] {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.slice(0, 5).flatMap(messagesOf);
  if (!(error instanceof Error)) return [String(error)];
  const at = /\n\s+at .*?((?:test|tools|packages|services)\/[^)\n]+)/.exec(error.stack ?? '')?.[1];
  return [at === undefined ? error.message : `${error.message} (${at})`];
}

function fileNameOf({ item, name }: Scenario): string {
  return `${item}-${name}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 80)
    .replace(/-$/, '');
}

async function bounded<T>(work: Promise<T>, ms: number): Promise<T> {
  const timer = new AbortController();
  const late = delay(ms, undefined, { signal: timer.signal }).then(() =>
    Promise.reject(new Error(`timed out after ${ms / 1000} s`)),
  );
  // The loser of the race is ignored.
  late.catch(() => undefined);
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}
