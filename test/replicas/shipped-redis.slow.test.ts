/** infra/redis/start.sh on a plain machine: folders with spaces in their names, ports of its own, no container. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endingWithParent, reservePort } from '@postern/testkit/processes';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../infra/redis/start.sh', import.meta.url));
const passwords = { REDIS_PASSWORD: 'postern-1', REDIS_REPLICA_PASSWORD: 'replica-1', REDIS_SENTINEL_PASSWORD: 's-1' };

async function startShipped(role: string, home: string, port: number, more: Readonly<Record<string, string>> = {}) {
  const [data, run] = [join(home, `data of ${port}`), join(home, `run of ${port}`)];
  for (const folder of [data, run]) mkdirSync(folder, { recursive: true });
  const env = {
    PATH: process.env['PATH'],
    ...passwords,
    REDIS_DATA: data,
    REDIS_RUN: run,
    REDIS_PORT: `${port}`,
    ...more,
  };
  const server = spawn(...endingWithParent(script, [role]), { env, stdio: 'ignore' });
  const exited = once(server, 'exit');
  return {
    async ask(user: string, password: string, ...words: readonly string[]): Promise<string> {
      const args = ['-p', `${port}`, '--no-auth-warning', ...(user === '' ? [] : ['--user', user]), ...words];
      const answer = promisify(execFile)('redis-cli', args, { env: { ...env, REDISCLI_AUTH: password } });
      return (await answer.catch(() => ({ stdout: '' }))).stdout.trim();
    },
    async [Symbol.asyncDispose]() {
      // A replica that writes its first append-only file ignores SIGTERM.
      server.kill('SIGKILL');
      await exited;
    },
  };
}

test('the shipped script starts one Redis, which keeps its data after a kill', async () => {
  const home = mkdtempSync(join(tmpdir(), 'postern shipped '));
  using _ = { [Symbol.dispose]: () => rmSync(home, { recursive: true }) };
  using reserved = await reservePort();
  for (const expected of ['', 'kept']) {
    await using redis = await startShipped('single', home, reserved.port);
    const ask = (...words: readonly string[]) => redis.ask('postern', passwords.REDIS_PASSWORD, ...words);
    await expect.poll(() => ask('ping'), { timeout: 20_000 }).toBe('PONG');
    expect(await ask('get', 'postern:test')).toBe(expected);
    expect(await ask('set', 'postern:test', 'kept')).toBe('OK');
    expect(await ask('config', 'get', 'maxmemory-policy')).toBe('maxmemory-policy\nnoeviction');
    // The default user is off.
    expect(await redis.ask('', '', 'get', 'postern:test')).toMatch(/^NOAUTH/);
  }
});

test('the shipped script starts a master, its replica and a Sentinel on one machine', async () => {
  const home = mkdtempSync(join(tmpdir(), 'postern shipped '));
  using _ = { [Symbol.dispose]: () => rmSync(home, { recursive: true }) };
  using first = await reservePort();
  using second = await reservePort();
  using third = await reservePort();
  const place = {
    REDIS_NAME: '127.0.0.1',
    REDIS_FIRST_MASTER: '127.0.0.1',
    REDIS_FIRST_MASTER_PORT: `${first.port}`,
  };
  await using master = await startShipped('node', home, first.port, place);
  await using replica = await startShipped('node', home, second.port, place);
  await using sentinel = await startShipped('sentinel', home, third.port, place);
  const roleOf = async (node: typeof master) =>
    (await node.ask('replica', passwords.REDIS_REPLICA_PASSWORD, 'role')).split('\n')[0];
  await expect.poll(() => roleOf(master), { timeout: 20_000 }).toBe('master');
  await expect.poll(() => roleOf(replica), { timeout: 20_000 }).toBe('slave');
  const known = () =>
    sentinel.ask('', passwords.REDIS_SENTINEL_PASSWORD, 'sentinel', 'get-master-addr-by-name', 'postern');
  await expect.poll(known, { timeout: 20_000 }).toBe(`127.0.0.1\n${first.port}`);
  // A write needs the replica.
  const write = () => master.ask('postern', passwords.REDIS_PASSWORD, 'set', 'postern:test', 'kept');
  await expect.poll(write, { timeout: 20_000 }).toBe('OK');
});
