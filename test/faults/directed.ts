import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scenario } from './scenario.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** The command that shows the same by hand. */
export const commandOf = ({ file, test }: NonNullable<Scenario['directed']>): string =>
  `vitest run ${file} -t ${JSON.stringify(test)}`;

/** Runs a directed test as a child. @returns what went wrong, if anything did; a test that does not exist is wrong as well */
export async function runDirected({ file, test }: NonNullable<Scenario['directed']>): Promise<string | undefined> {
  const child = spawn(process.execPath, [vitest, 'run', file, '-t', test, '--reporter=json'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.resume();
  const [code] = (await once(child, 'close')) as [number | null];
  const output = Buffer.concat(chunks).toString();
  const passed = Number(/"numPassedTests":\s*(\d+)/.exec(output)?.[1] ?? 0);
  if (code === 0 && passed > 0) return undefined;
  return code === 0 ? `no such test: ${commandOf({ file, test })}` : `${commandOf({ file, test })} ended with ${code}`;
}

/** An item that a test of its own shows already, as an entry of the catalogue. */
export function directed(item: string, name: string, directedTest: NonNullable<Scenario['directed']>): Scenario {
  return {
    ...{ item, name },
    directed: directedTest,
    run: () => Promise.reject(new Error('the runner runs the test instead')),
  };
}
