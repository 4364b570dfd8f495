/** `pnpm test [vitest arguments]`: vitest, and one closing line that counts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runNode } from './child.ts';
import { readTestCounts } from './test-counts.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-test-'));
try {
  const report = join(folder, 'report.json');
  const exitCode = await runNode([
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ]);
  const { passed, failed, skipped } = readTestCounts(report);
  if (skipped > 0) console.log(`${skipped} skipped`);
  if (exitCode !== 0 && failed === 0) console.log(`vitest ended with exit code ${exitCode}; its output above says why`);
  if (passed + failed === 0) console.log('no test ran');
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = exitCode === 0 && (failed > 0 || passed === 0) ? 1 : exitCode;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
