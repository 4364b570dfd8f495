import { Writable } from 'node:stream';
import { startRedis } from '@postern/testkit/redis';
import { expect, it } from 'vitest';
import { startGateway } from '../../gateway.ts';
import { sampleConfig } from '../../testing/sample-config.ts';
import { parseConfig } from '../config/load-config.ts';
import { createLogger } from '../logger.ts';

const eventually = { timeout: 100_000, interval: 50 };

it.each([
  { readyNeedsWrites: false, whileFull: [200, { status: 'ready', writes: false }] },
  { readyNeedsWrites: true, whileFull: [503, { status: 'not_ready', code: 'writes_refused' }] },
])(
  'S77: a full Redis shows in /readyz, log and metrics: $readyNeedsWrites',
  async ({ readyNeedsWrites, whileFull }) => {
    await using redis = await startRedis({ args: ['--maxmemory', '1gb'] });
    const lines: Readonly<Record<string, unknown>>[] = [];
    const destination = new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)));
        done();
      },
    });
    const config = parseConfig(
      sampleConfig({
        publicUrl: 'http://127.0.0.1:8080',
        listen: { port: 0 },
        metrics: { port: 0 },
        redis: { url: redis.url, readyNeedsWrites },
      }),
    );
    await using gateway = await startGateway(config, {
      logger: createLogger({ level: 'info', destination }),
      redisWatchMs: 20,
    });
    const linesOf = (event: string) => lines.filter(line => line['event'] === event);
    const readiness = async () => {
      const response = await fetch(`${gateway.address}/readyz`);
      return [response.status, await response.json()];
    };
    const measured = async (name: string) => {
      const text = await (await fetch(`${gateway.metricsAddress}/metrics`)).text();
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    };
    const issue = async () => {
      const response = await fetch(`${gateway.address}/v1/elicitations`, {
        method: 'POST',
        headers: { authorization: 'Bearer pk_tracker', 'content-type': 'application/json' },
        body: JSON.stringify({
          kind: 'authorization',
          message: 'Connect',
          authorization: { provider: 'forge' },
          subject: { issuer: 'https://id.example', subject: 'alice' },
        }),
      });
      return response.status;
    };

    await expect.poll(readiness, eventually).toEqual([200, { status: 'ready', writes: true }]);
    expect(await measured('postern_redis_writable')).toBe(1);
    expect(await measured('postern_redis_memory_used_ratio')).toBeLessThan(0.8);
    expect(linesOf('redis.unwise')).toEqual([]);

    await redis.ask('CONFIG', 'SET', 'maxmemory', '1mb');
    await expect.poll(readiness, eventually).toEqual(whileFull);
    expect(await issue()).toBe(503);
    expect(linesOf('redis.writes_refused')).toMatchObject([{ level: 'error', codes: ['OOM'] }]);
    expect(linesOf('redis.commands_failed')).toMatchObject([{ level: 'warn', failed: { OOM: expect.any(Number) } }]);
    expect(await measured('postern_redis_writable')).toBe(0);
    expect(await measured('postern_redis_memory_used_ratio')).toBeGreaterThan(1);

    await redis.ask('CONFIG', 'SET', 'maxmemory', '1gb');
    await expect.poll(readiness, eventually).toEqual([200, { status: 'ready', writes: true }]);
    expect(await issue()).toBe(201);
    expect(linesOf('redis.writes_regained')).toHaveLength(1);
  },
);
