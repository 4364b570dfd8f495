/** `pnpm test [--all] [path] [vitest arguments]`: runs vitest and prints one final line with counts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledGateway } from '../test/support/compiled-gateway.ts';
import { root, runNode } from './child.ts';
import { setupIfPossible } from './setup.mjs';
import { testRunOf } from './test-arguments.ts';
import { readTestCounts } from './test-counts.ts';

const { size, vitestArguments } = testRunOf(process.argv.slice(2));
// Without them, the tests that need them say so and are skipped.
if (process.argv.includes('--all')) await setupIfPossible(['debootstrap', 'httpx', 'curl']);
const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
const counts = join(folder, 'counts.json');
try {
  const exitCode = await runNode(
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      `--reporter=${join(root, 'scripts/test-counts.ts')}`,
      ...vitestArguments,
    ],
    { env: { ...process.env, ...(await compiledGateway()), POSTERN_TEST_RUN: size, POSTERN_TEST_COUNTS: counts } },
  );
  const { passed, failed, skipped } = readTestCounts(counts);
  if (skipped > 0) console.log(`${skipped} skipped`);
  if (exitCode !== 0 && failed === 0) console.log(`vitest ended with exit code ${exitCode}; its output above says why`);
  if (passed + failed === 0) console.log('no test ran');
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = exitCode === 0 && (failed > 0 || passed === 0) ? 1 : exitCode;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
