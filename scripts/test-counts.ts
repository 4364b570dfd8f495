import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** The part of vitest's JSON report that we read. */
const reportSchema = z.object({
  numPassedTests: z.int().nonnegative(),
  numFailedTests: z.int().nonnegative(),
  numPendingTests: z.int().nonnegative(),
  numTodoTests: z.int().nonnegative(),
  testResults: z.array(z.object({ status: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
});

export type TestCounts = { readonly passed: number; readonly failed: number; readonly skipped: number };

/** Counts a report. A file that fails outside of its tests (a bad import, a failing hook) counts as one failure. */
export function countTests(report: unknown): TestCounts {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = reportSchema.parse(report);
  const brokenFiles = testResults.filter(
    file => file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
  );
  return {
    passed: numPassedTests,
    failed: numFailedTests + brokenFiles.length,
    skipped: numPendingTests + numTodoTests,
  };
}

/** The counts in a report file; nothing ran when vitest ended without writing one. */
export function readTestCounts(path: string): TestCounts {
  return existsSync(path) ? countTests(JSON.parse(readFileSync(path, 'utf8'))) : { passed: 0, failed: 0, skipped: 0 };
}
