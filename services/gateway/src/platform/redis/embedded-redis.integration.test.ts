import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { shardOf } from '@postern/elicitation';
import { createRedisStores } from '@postern/store-redis';
import { freePort } from '@postern/testkit/processes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StartError } from '../start-error.ts';
import { joinEmbeddedRedis, startEmbeddedRedis } from './embedded-redis.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-embedded-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const quota = { records: 1e6, bytes: 1e9 };
const key = {
  digest: 'a',
  fingerprint: 'b',
  shard: shardOf({ issuer: 'https://id.example.com', subject: 'alice' }),
  mcpServerId: 'tracker',
  response: 'kept',
  quota,
};

describe('the embedded Redis', () => {
  it('keeps its data over a restart, with a password and an append-only file', async () => {
    const home = join(directory, 'kept');
    let password = '';
    {
      await using redis = await startEmbeddedRedis(home);
      const url = new URL(redis.url);
      password = url.password;
      expect(url.hostname).toBe('127.0.0.1');
      expect(password).toMatch(/^[0-9a-f]{64}$/);
      // The start-up check of the store passes, which requires the append-only file and noeviction.
      await using stores = await createRedisStores({ url: redis.url });
      expect(await stores.idempotency.put(key)).toEqual({ result: 'stored' });
      url.password = '';
      await expect(createRedisStores({ url: url.href, startTimeoutMs: 500 })).rejects.toMatchObject({
        code: 'store_unavailable',
      });
    }
    expect(readdirSync(join(home, 'appendonlydir')).length).toBeGreaterThan(0);
    expect(statSync(home).mode & 0o077).toBe(0);

    await using again = await startEmbeddedRedis(home);
    expect(new URL(again.url).password).not.toBe(password);
    await using stores = await createRedisStores({ url: again.url });
    expect(await stores.idempotency.put(key)).toEqual({ result: 'exists' });
  });

  it('uses another port if another program has taken the first one in the meantime', async () => {
    const program = createServer().listen(0, '127.0.0.1');
    await once(program, 'listening');
    const address = program.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const free = await freePort();
    const ports = [address.port, free];
    await using redis = await startEmbeddedRedis(join(directory, 'taken'), async () => ports.shift() ?? free);
    program.close();
    expect(new URL(redis.url).port).toBe(String(free));
    await using _stores = await createRedisStores({ url: redis.url });
  });

  it('fails with a StartError if redis-server is not installed', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = join(directory, 'empty');
    try {
      await expect(startEmbeddedRedis(join(directory, 'none'))).rejects.toThrow(StartError);
    } finally {
      process.env['PATH'] = path;
    }
  });

  it('reports that redis-server exited at start-up, for example after a damaged append-only file', async () => {
    const damaged = join(directory, 'damaged');
    mkdirSync(join(damaged, 'appendonlydir'), { recursive: true });
    writeFileSync(join(damaged, 'appendonlydir', 'appendonly.aof.manifest'), 'not a manifest');
    await expect(startEmbeddedRedis(damaged)).rejects.toThrow(/exited with code/);
  });

  it('accepts a directory with quotes and spaces in its name', async () => {
    const odd = join(directory, `o"d d'`);
    await using redis = await startEmbeddedRedis(odd);
    await using _stores = await createRedisStores({ url: redis.url });
    expect(readdirSync(odd)).toContain('appendonlydir');
  });

  it('refuses a second gateway on the same directory until the first one has stopped', async () => {
    const shared = join(directory, 'shared');
    {
      await using _first = await startEmbeddedRedis(shared);
      await expect(startEmbeddedRedis(shared)).rejects.toThrow(StartError);
    }
    await using again = await startEmbeddedRedis(shared);
    await using _stores = await createRedisStores({ url: again.url });
  });

  it('can be joined while it runs, and an address that is left over leads nowhere', async () => {
    const joined = join(directory, 'joined');
    expect(await joinEmbeddedRedis(joined)).toBeUndefined();
    let left = '';
    {
      await using redis = await startEmbeddedRedis(joined);
      left = redis.url;
      await using second = await joinEmbeddedRedis(joined);
      expect(second?.url).toBe(left);
      await second?.[Symbol.asyncDispose]();
      await using stores = await createRedisStores({ url: left });
      expect(await stores.idempotency.put(key)).toEqual({ result: 'stored' });
    }
    expect(readdirSync(joined)).not.toContain('address');
    const answers: ((socket: Socket) => unknown)[] = [
      socket => socket.end('+OK\r\n-no'),
      socket => socket.end(randomBytes(100_000)),
      socket => socket.end(),
      socket => socket.resetAndDestroy(),
    ];
    let answer = answers[0];
    const program = createServer(socket => answer?.(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await once(program, 'listening');
    const address = program.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    writeFileSync(join(joined, 'address'), left);
    expect(await joinEmbeddedRedis(joined)).toBeUndefined();
    for (answer of answers) {
      writeFileSync(join(joined, 'address'), `redis://:x@127.0.0.1:${address.port}`);
      expect(await joinEmbeddedRedis(joined)).toBeUndefined();
    }
    program.close();
    // The next start replaces it, with the rights of its own.
    await using redis = await startEmbeddedRedis(joined);
    expect([readFileSync(join(joined, 'address'), 'utf8'), statSync(join(joined, 'address')).mode & 0o777]).toEqual([
      redis.url,
      0o600,
    ]);
  });

  it('stops a server that outlived its gateway before it starts another one on the same files', async () => {
    const orphaned = join(directory, 'orphaned');
    mkdirSync(orphaned);
    const files = ['--unixsocket', join(orphaned, 's'), '--pidfile', join(orphaned, 'redis.pid'), '--dir', orphaned];
    const orphan = spawn('redis-server', ['--port', '0', '--appendonly', 'yes', ...files], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(orphan, 'exit');
    for await (const line of createInterface({ input: orphan.stdout })) if (line.includes('ready to accept')) break;
    orphan.stdout.resume();

    await using redis = await startEmbeddedRedis(orphaned);
    await ended;
    await using _stores = await createRedisStores({ url: redis.url });
  });

  it('the embedded Redis does not stop another process that has the process id of an earlier server', async () => {
    const reused = join(directory, 'reused');
    mkdirSync(reused);
    writeFileSync(join(reused, 'redis.pid'), String(process.pid));
    await using redis = await startEmbeddedRedis(reused);
    await using _stores = await createRedisStores({ url: redis.url });
  });
});
