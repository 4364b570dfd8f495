import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { DirectedTest, Scenario } from './scenario.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** The shell command that runs the same test. */
export const commandOf = ({ file, test, env = {} }: DirectedTest): string =>
  [
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    `vitest run ${file} -t ${JSON.stringify(test)}`,
  ].join(' ');

const reportSchema = z.object({ numPassedTests: z.int() });

/** Runs a directed test as a child process. @returns the error, if any; a test that does not exist is an error */
export async function runDirected(directed: DirectedTest): Promise<string | undefined> {
  const { file, test, env } = directed;
  const directory = await mkdtemp(join(tmpdir(), 'postern-directed-'));
  try {
    const path = join(directory, 'report.json');
    const args = ['run', file, '-t', test, '--reporter=json', `--outputFile=${path}`];
    const child = spawn(process.execPath, [vitest, ...args], {
      cwd: root,
      stdio: 'ignore',
      env: { ...process.env, ...env },
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) return `${commandOf(directed)} ended with ${code}`;
    const { numPassedTests } = reportSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    return numPassedTests > 0 ? undefined : `no such test: ${commandOf(directed)}`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Adds an item that an existing test shows to the catalogue. */
export function directed(item: string, name: string, directedTest: DirectedTest): Scenario {
  return {
    item,
    name,
    directed: directedTest,
    run: () => Promise.reject(new Error('the runner runs the test instead')),
  };
}
