/**
 * Start and end of servers: on a port that another program may have taken, together with their siblings, and never after the
 * tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, test } from 'vitest';
import { endingWithParent, freePort, reservePort, startAll } from './processes.ts';
import { startRedis, startRedisCluster, startRedisSentinel } from './redis.ts';
import { runRedis } from './redis-server.ts';

/** Process ids of running redis-servers that this process has started. */
function serversOfOurs(): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        // proc(5): name and parent are fields 2 and 4.
        const [, program, parent] = /^\d+ \((.*)\) \S+ (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
        return program === 'redis-server' && parent === String(process.pid) ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
}

async function listenOn(port: number): Promise<AsyncDisposable> {
  const server = createServer(socket => socket.destroy()).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a port', () => {
  test('a port belongs to one test at a time', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, freePort));
    expect(new Set(ports).size).toBe(200);
    for (const port of ports) expect(port).toSatisfy((it: number) => it >= 12_000 && it < 22_000);
  });

  test.each([
    { what: 'the port', args: [], offset: 0 },
    { what: 'the port of the cluster bus', args: ['--cluster-enabled', 'yes'], offset: 10_000 },
  ])('that a program takes between the look and the start is replaced: $what', async ({ args, offset }) => {
    const [taken, free] = [await reservePort(), await reservePort()];
    await using _program = await listenOn(taken.port + offset);
    const offered = [taken, free];
    const dir = await mkdtemp(join(tmpdir(), 'postern-redis-'));
    await using redis = await runRedis({
      args: port => ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', ...args],
      dir,
      place: { host: '127.0.0.1' },
      tls: undefined,
      access: undefined,
      choosePort: () => Promise.resolve(offered.shift() ?? reservePort()),
    });
    expect(redis.port).toBe(free.port);
    expect(await redis.ask('PING')).toBe('PONG\n');
  });

  test('a port that another Redis has taken is not mistaken for the server', async () => {
    await using other = await startRedis();
    const dir = await mkdtemp(join(tmpdir(), 'postern-redis-'));
    const start = runRedis({
      args: () => ['--port', String(other.port), '--bind', '127.0.0.1', '--dir', dir],
      dir,
      place: { host: '127.0.0.1' },
      tls: undefined,
      access: undefined,
    });
    await expect(start).rejects.toMatchObject({ name: 'PortTakenError' });
    expect(existsSync(dir)).toBe(false);
  });

  test('a restart waits for a port that another program has taken', async () => {
    await using redis = await startRedis();
    await redis.kill();
    const program = await listenOn(redis.port);
    const restarted = redis.restart();
    await program[Symbol.asyncDispose]();
    await restarted;
    expect(await redis.ask('PING')).toBe('PONG\n');
  });
});

describe('when one server fails to start, its siblings end:', () => {
  /** An address that no machine has. */
  const nowhere = { host: '203.0.113.1' };
  let before: readonly number[] = [];
  beforeEach(() => {
    before = serversOfOurs();
  });

  test('a cluster', async () => {
    await expect(startRedisCluster({ placeOf: node => (node === 1 ? nowhere : undefined) })).rejects.toThrow();
    expect(serversOfOurs()).toEqual(before);
  });

  test('replicas', async () => {
    const start = startRedisSentinel({ replicas: 2, placeOf: node => (node === 2 ? nowhere : undefined) });
    await expect(start).rejects.toThrow();
    expect(serversOfOurs()).toEqual(before);
  });

  test('Sentinels', async () => {
    const placeOfSentinel = (sentinel: number) => (sentinel === 0 ? nowhere : undefined);
    await expect(startRedisSentinel({ replicas: 0, placeOfSentinel })).rejects.toThrow();
    expect(serversOfOurs()).toEqual(before);
  });

  test('a sibling that is still starting', async () => {
    let isDisposed = false;
    const late = async () => {
      await new Promise(resolve => setImmediate(resolve));
      return {
        async [Symbol.asyncDispose]() {
          isDisposed = true;
        },
      };
    };
    await expect(startAll([late(), Promise.reject(new Error('failed'))])).rejects.toThrow('failed');
    expect(isDisposed).toBe(true);
  });
});

describe('no server outlives its parent process,', () => {
  const program = `
    const { startRedis } = await import(${JSON.stringify(new URL('./redis.ts', import.meta.url).href)});
    const servers = [await startRedis(), await startRedis()];
    console.log(JSON.stringify(servers.map(({ pid }) => pid)));
    setInterval(() => {}, 1_000);
  `;

  test.each(['SIGKILL', 'SIGTERM'] as const)('which %s ends', async signal => {
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(createInterface(parent.stdout), 'line')) as [string];
      const pids = JSON.parse(line) as number[];
      expect(pids).toHaveLength(2);
      expect(pids.filter(isRedis)).toEqual(pids);
      parent.kill(signal);
      await once(parent, 'exit');
      await expect.poll(() => pids.filter(isRedis)).toEqual([]);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('a program whose parent has already ended does not start', async () => {
    const [command, args] = endingWithParent('echo', ['begun']);
    const notTheParent = args.map(word => (word === String(process.pid) ? '1' : word));
    const child = spawn(command, notTheParent, { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.resume();
    expect((await once(child, 'exit'))[0]).toBe(1);
  });
});

/** An ended process stays a zombie if no process reads its exit status, as in a container without an init. */
function isRedis(pid: number): boolean {
  try {
    return /^\d+ \(redis-server\) (?!Z)/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
