import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { root, run, runNode } from './child.ts';

const quiet = { stdio: 'ignore' } as const;

test('returns the exit code of the child', async () => {
  expect(await runNode(['--eval', 'process.exit(7)'], quiet)).toBe(7);
});

test('returns 128 + the signal number if a signal ended the child', async () => {
  expect(await runNode(['--eval', 'process.kill(process.pid, "SIGKILL")'], quiet)).toBe(137);
});

test('refuses a program that does not exist', async () => {
  await expect(run('./no-such-program', [], quiet)).rejects.toMatchObject({ code: 'ENOENT' });
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'passes %s on and returns the exit code of the child',
  async signal => {
    const child = `process.on('${signal}', () => process.exit(5)); console.log('ready'); setInterval(() => {}, 60_000)`;
    const script = `
    import { runNode } from '${pathToFileURL(`${root}scripts/child.ts`)}';
    process.exitCode = await runNode(['--eval', ${JSON.stringify(child)}]);
  `;
    const wrapper = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(wrapper.stdout, 'data');
    wrapper.kill(signal);
    expect(await once(wrapper, 'close')).toEqual([5, null]);
  },
);
