import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { root } from './child.ts';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

const commands: readonly (readonly [string, ...string[]])[] = [
  ['demo', '--unattended'],
  ['start'],
  ['dev'],
  ['test', '--all'],
  ['verify', '--mutations'],
  ['bench', '--quick', '--only', '--compare', '--profile', '--shares', '--plot', '--report'],
  ['conformance'],
  ['packages'],
  ['faults', '--long', '--only', '--seed', '--seeds', '--out', '--record'],
  ['walk', '--list'],
  ['foreign', '--only'],
  ['supply-chain'],
  ['fresh-machine', '--node', '--full'],
];

function run(name: string, ...args: readonly string[]) {
  const script = /exec node (\S+)$/.exec(scripts[name] ?? '')?.[1] ?? '';
  return new Promise<{ code: unknown; stdout: string; stderr: string }>(resolve => {
    execFile(process.execPath, [join(root, script), ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

it.each(commands)('%s --help names every option, and runs nothing', async (name, ...options) => {
  const { code, stdout, stderr } = await run(name, '--help');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.match(/^ {2}--\w[\w-]*/gm)?.map(option => option.trim())).toEqual(
    expect.arrayContaining([...options, '--help']),
  );
});

it.each(commands)('%s refuses an unknown option with one line and exit code 2', async name => {
  const { code, stdout, stderr } = await run(name, '--nope');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^[^\n]*--nope[^\n]*\n$/);
});

it('-h is --help', async () => {
  for (const name of ['test', 'walk']) expect(await run(name, '-h')).toEqual(await run(name, '--help'));
});

it('refuses an argument without effect', async () => {
  expect(await run('walk', 'everything')).toMatchObject({ code: 2, stdout: '' });
  expect(await run('start', 'a.yaml', 'b.yaml')).toMatchObject({ code: 2, stdout: '' });
});
