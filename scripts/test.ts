/** `pnpm test [--all] [path] [vitest arguments]`: runs vitest and prints one final line with counts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledGateway } from '../test/support/compiled-gateway.ts';
import { root, runNode } from './child.ts';
import { commandLine, refuseArguments } from './command-line.ts';
import { setupIfPossible } from './setup.mjs';
import { testRunOf } from './test-arguments.ts';
import { readTestCounts } from './test-counts.ts';

const { size, vitestArguments } = testRunOf(process.argv.slice(2));
const options = process.argv.slice(2).filter(arg => arg.startsWith('-') && arg !== '--all');
if (options.some(option => ['--help', '-h'].includes(option)))
  commandLine({
    usage: 'test [path…] [options of vitest]',
    about: 'runs the short tests, or in full the tests whose path contains one of these',
    options: {
      all: { type: 'boolean', about: 'run all tests, as CI does' },
      testNamePattern: { type: 'string', about: 'only tests whose name matches; vitest has further options' },
    },
    words: Number.POSITIVE_INFINITY,
  });
if (options.length > 0) await refuseUnknown(options);
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

/** Vitest itself answers an unknown option with a stack trace. */
async function refuseUnknown(options: readonly string[]): Promise<void> {
  const { createCLI } = await import('vitest/node');
  const cli = createCLI();
  cli.parse(['node', 'vitest', 'run', ...options], { run: false });
  try {
    cli.matchedCommand?.checkUnknownOptions();
  } catch (error) {
    refuseArguments(error instanceof Error ? error.message : 'The arguments are wrong');
  }
}
