import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

/** The used part of vitest's JSON report. */
const reportSchema = z.object({
  numPassedTests: z.int(),
  testResults: z.array(
    z.object({
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});

export type TestRun =
  | { readonly result: 'passed' }
  /** An assertion failed. */
  | { readonly result: 'failed'; readonly test: string; readonly message: string }
  /** No assertion failed, but the run did not pass: a timeout, an error in the code or in a hook, or no test at all. */
  | { readonly result: 'broken'; readonly message: string };

/** Includes the failures of `expect().rejects`, `expect().resolves` and fast-check, which have other names. */
const ASSERTION = /^(?:AssertionError\b|Error: (?:promise (?:resolved|rejected)|expected|Property failed)\b)/;

/** Runs test files of a copy of the repository and reports the first failed assertion. */
export async function runTests(p: {
  readonly folder: string;
  readonly files: readonly string[];
  readonly only?: string | undefined;
  readonly limitMs: number;
}): Promise<TestRun> {
  const reports = mkdtempSync(join(tmpdir(), 'postern-mutation-report-'));
  const report = join(reports, 'report.json');
  try {
    const isInTime = await run(p.folder, p.limitMs, [
      ...p.files,
      ...(p.only === undefined ? [] : ['-t', p.only.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')]),
      `--testTimeout=${p.limitMs / 2}`,
      '--reporter=json',
      `--outputFile.json=${report}`,
    ]);
    if (!isInTime) return { result: 'broken', message: `no result within ${p.limitMs / 1000} s` };
    return existsSync(report)
      ? outcomeOf(JSON.parse(readFileSync(report, 'utf8')))
      : { result: 'broken', message: 'vitest wrote no report' };
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

/** Reads a report. A failed assertion counts, whatever other errors there are. */
export function outcomeOf(json: unknown): TestRun {
  const { testResults, numPassedTests } = reportSchema.parse(json);
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failures = tests.flatMap(({ fullName, failureMessages }) =>
    (failureMessages ?? []).map(message => ({ test: fullName, message: firstLine(message) })),
  );
  const failed = failures.find(({ message }) => ASSERTION.test(message));
  if (failed !== undefined) return { result: 'failed', ...failed };
  const [other] = failures;
  if (other !== undefined) return { result: 'broken', message: `${other.test}: ${other.message}` };
  const broken = testResults.find(({ status }) => status === 'failed');
  if (broken !== undefined) return { result: 'broken', message: firstLine(broken.message) };
  return numPassedTests === 0 ? { result: 'broken', message: 'no test ran' } : { result: 'passed' };
}

const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').slice(0, 200);

/** Whether vitest ended within the limit. Otherwise vitest and its child processes are killed. */
async function run(folder: string, limitMs: number, args: readonly string[]): Promise<boolean> {
  const vitest = spawn(process.execPath, [join(folder, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
    cwd: folder,
    stdio: 'ignore',
    detached: true,
  });
  let isInTime = true;
  const killAll = () => {
    isInTime = false;
    try {
      if (vitest.pid !== undefined) process.kill(-vitest.pid, 'SIGKILL');
    } catch {
      // The group has ended in the meantime.
    }
  };
  const timer = setTimeout(killAll, limitMs);
  process.once('exit', killAll);
  await once(vitest, 'close');
  process.off('exit', killAll);
  clearTimeout(timer);
  return isInTime;
}
