import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createRedisStores } from '@postern/store-redis';
import { freePort } from '@postern/testkit/processes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedRedis } from './embedded-redis.ts';
import { StartError } from './start-error.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-embedded-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const quota = { records: 1e6, bytes: 1e9 };
const claim = { mcpServerId: 'tracker', digest: 'a', fingerprint: 'b', reservation: 'c', leaseMs: 60_000, quota };

describe('the private Redis', () => {
  it('keeps its data over a restart, behind a password and an append-only file', async () => {
    const home = join(directory, 'kept');
    let password = '';
    {
      await using redis = await startEmbeddedRedis(home);
      const url = new URL(redis.url);
      password = url.password;
      expect(url.hostname).toBe('127.0.0.1');
      expect(password).toMatch(/^[0-9a-f]{64}$/);
      // The start-up check of the store passes: it asks for the append-only file and for noeviction.
      await using stores = await createRedisStores({ url: redis.url });
      expect(await stores.idempotency.begin(claim)).toMatchObject({ result: 'begun' });
      await stores.idempotency.finish({ ...claim, response: 'kept', retentionMs: 60_000 });
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
    expect(await stores.idempotency.begin(claim)).toEqual({ result: 'replay', response: 'kept' });
  });

  it('takes another port when a program has taken the first one meanwhile', async () => {
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

  it('says what is missing when there is no redis-server', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = join(directory, 'empty');
    try {
      await expect(startEmbeddedRedis(join(directory, 'none'))).rejects.toThrow(StartError);
    } finally {
      process.env['PATH'] = path;
    }
  });

  it('says so when redis-server ends at start, as it does on a damaged append-only file', async () => {
    const damaged = join(directory, 'damaged');
    mkdirSync(join(damaged, 'appendonlydir'), { recursive: true });
    writeFileSync(join(damaged, 'appendonlydir', 'appendonly.aof.manifest'), 'not a manifest');
    await expect(startEmbeddedRedis(damaged)).rejects.toThrow(/ended with code/);
  });

  it('takes a directory with quotes and spaces in its name', async () => {
    const odd = join(directory, `o"d d'`);
    await using redis = await startEmbeddedRedis(odd);
    await using _stores = await createRedisStores({ url: redis.url });
    expect(readdirSync(odd)).toContain('appendonlydir');
  });

  it('is not shared: a second gateway on the same directory is refused until the first has ended', async () => {
    const shared = join(directory, 'shared');
    {
      await using _first = await startEmbeddedRedis(shared);
      await expect(startEmbeddedRedis(shared)).rejects.toThrow(StartError);
    }
    await using again = await startEmbeddedRedis(shared);
    await using _stores = await createRedisStores({ url: again.url });
  });

  it('ends a server that outlived its gateway before it starts its own on the same file', async () => {
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

  it('leaves a process alone that merely has the number of an earlier server', async () => {
    const reused = join(directory, 'reused');
    mkdirSync(reused);
    writeFileSync(join(reused, 'redis.pid'), String(process.pid));
    await using redis = await startEmbeddedRedis(reused);
    await using _stores = await createRedisStores({ url: redis.url });
  });
});
