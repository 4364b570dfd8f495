/** A vitest reporter that counts the tests and writes the counts to the file named by `POSTERN_TEST_COUNTS`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';
import { z } from 'zod';

const countsSchema = z.object({
  passed: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  skipped: z.int().nonnegative(),
});

export type TestCounts = z.infer<typeof countsSchema>;

/** The used part of vitest's `TestModule`. */
export type CountedModule = {
  readonly children: { allTests(): Iterable<{ result(): { readonly state: string } }> };
} & Pick<TestModule, 'ok'>;

/** Counts tests. A file that fails outside of its tests (a bad import, a failing hook) counts as one failure. */
export function countTests(modules: readonly CountedModule[], unhandledErrors = 0): TestCounts {
  const counts = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const testModule of modules) {
    const states = [...testModule.children.allTests()].map(test => test.result().state);
    const failed = states.filter(state => state === 'failed').length;
    counts.passed += states.filter(state => state === 'passed').length;
    counts.failed += failed === 0 && !testModule.ok() ? 1 : failed;
    counts.skipped += states.filter(state => state !== 'passed' && state !== 'failed').length;
  }
  return counts;
}

/** Reads the counts that the reporter wrote; zero of each when vitest ended without writing them. */
export function readTestCounts(path: string): TestCounts {
  return existsSync(path)
    ? countsSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
    : { passed: 0, failed: 0, skipped: 0 };
}

// biome-ignore lint/style/noDefaultExport: vitest loads the default export of a reporter's file
export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const path = process.env['POSTERN_TEST_COUNTS'];
    if (path !== undefined) writeFileSync(path, JSON.stringify(countTests(modules, unhandledErrors.length)));
  }
}
