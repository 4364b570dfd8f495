import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { expect, it } from 'vitest';
import { startGateway } from '../../gateway.ts';
import { runCommand } from '../../testing/run-command.ts';
import { sampleConfig, sampleMcpServer } from '../../testing/sample-config.ts';
import type { GatewayConfigInput } from '../config/config-schema.ts';
import { parseConfig } from '../config/load-config.ts';
import { createLogger } from '../logger.ts';

type Line = Readonly<Record<string, unknown>>;

/** A gateway on its own Redis, and the configuration file of both the gateway and the command. */
async function startPair(redisConfig: Partial<NonNullable<GatewayConfigInput['redis']>> = {}) {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const folder = await mkdtemp(join(tmpdir(), 'postern-loss-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const config = sampleConfig({
    publicUrl: 'http://127.0.0.1:8080',
    listen: { port: 0 },
    metrics: { port: 0 },
    redis: { url: redis.url, ...redisConfig },
    mcpServers: [
      { ...sampleMcpServer, webhooks: [{ id: 'main', url: 'https://tracker.example/hook', secrets: [secret] }] },
    ],
  });
  const file = join(folder, 'postern.config.yaml');
  await writeFile(file, JSON.stringify(config));
  const lines: Line[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const gateway = stack.use(
    await startGateway(parseConfig(config), { logger: createLogger({ level: 'info', destination }) }),
  );
  const request = (path: string, init?: RequestInit) => fetch(`${gateway.address}${path}`, init);
  const held = stack.move();
  return {
    redis,
    request,
    linesOf: (event: string) => lines.filter(line => line['event'] === event),
    async readiness() {
      const response = await request('/readyz');
      const { code } = (await response.json()) as { code?: string };
      return code ?? response.status;
    },
    async measured(name: string) {
      const text = await (await fetch(`${gateway.metricsAddress}/metrics`)).text();
      return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
    },
    issue: (subject: string) =>
      request('/v1/elicitations', {
        method: 'POST',
        headers: { authorization: 'Bearer pk_tracker', 'content-type': 'application/json' },
        body: JSON.stringify({
          kind: 'authorization',
          message: 'Connect',
          authorization: { provider: 'forge' },
          subject: { issuer: 'https://id.example', subject },
        }),
      }),
    async postern(...args: readonly string[]) {
      const why = args[0] === 'accept-loss' ? ['--reason', 'tests'] : [];
      const { code, out, err } = await runCommand(['redis', ...args, ...why, '-c', file]);
      return { code, out: `${out}${err}` };
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const eventually = { interval: 100 };

/** Ignores the keys of job queues. */
async function keysOfShards(redis: RedisServer): Promise<string[]> {
  return (await redis.ask('KEYS', 'postern:{??}:*')).split('\n');
}

async function filesOf(redis: RedisServer): Promise<string> {
  const [, directory = ''] = (await redis.ask('CONFIG', 'GET', 'dir')).split('\n');
  return join(directory, 'appendonlydir');
}

it('is not ready and refuses API and pages while Redis is empty, until the operator accepts the loss', async () => {
  await using pair = await startPair();
  const { redis, request, readiness, issue, postern, linesOf, measured } = pair;
  await expect.poll(readiness, eventually).toBe(200);
  const deployment = String(linesOf('redis.first_start')[0]?.['deployment']);
  expect(await postern('status')).toMatchObject({ code: 0, out: expect.stringContaining(deployment) });
  expect(await postern('accept-loss', '--yes')).toMatchObject({ code: 0 });
  const { elicitationId } = (await (await issue('alice')).json()) as { elicitationId: string };

  await redis.ask('FLUSHALL');
  await expect.poll(readiness, eventually).toBe('data_lost');
  // Workers continue until the gateway detects the loss.
  const before = await keysOfShards(redis);
  const [issued, page] = [
    await issue('bob'),
    await request(`/e/${elicitationId}/decline`, { method: 'POST', headers: { origin: 'http://127.0.0.1:8080' } }),
  ];
  expect([issued.status, ((await issued.json()) as Line)['code'], page.status]).toEqual([503, 'unavailable', 503]);
  expect((await request(`/e/${elicitationId}`)).status).toBe(503);
  expect((await request('/livez')).status).toBe(200);
  expect(before).toEqual(expect.arrayContaining(await keysOfShards(redis)));
  expect(linesOf('redis.data_lost')).toMatchObject([{ level: 'error', deployment, missing: 256, foreign: 0 }]);
  expect(await measured('postern_redis_lost_shards')).toBe('256');

  expect((await postern('status')).code).toBe(1);
  expect((await postern('accept-loss', '--yes')).code).toBe(1);
  expect((await postern('accept-loss', '--deployment', deployment)).code).toBe(1);
  expect(before).toEqual(expect.arrayContaining(await keysOfShards(redis)));
  expect((await postern('accept-loss', '--deployment', deployment, '--yes')).code).toBe(0);
  await expect.poll(readiness, eventually).toBe(200);
  expect((await issue('bob')).status).toBe(201);
  expect(linesOf('redis.loss_accepted')).toMatchObject([{ audit: true, deployment, shards: 256 }]);
  expect(await measured('postern_redis_lost_shards')).toBe('0');
});

it('starts on an empty Redis of another deployment than configured, and is ready once the operator accepts the loss', async () => {
  await using pair = await startPair({ deployment: 'dp_pinned-elsewhere' });
  await expect.poll(pair.readiness, eventually).toBe('data_lost');
  expect((await pair.issue('alice')).status).toBe(503);
  expect((await pair.postern('accept-loss', '--deployment', 'dp_something-else', '--yes')).code).toBe(1);
  expect((await pair.postern('accept-loss', '--yes')).code).toBe(0);
  await expect.poll(pair.readiness, eventually).toBe(200);
  expect((await pair.issue('alice')).status).toBe(201);
});

it('takes over the shards of another deployment only with --all', async () => {
  await using pair = await startPair();
  const [first] = pair.linesOf('redis.first_start');
  const deployment = String(first?.['deployment']);
  const take = ['accept-loss', '--deployment', 'dp_somebody-else', '--yes'];
  expect((await pair.postern(...take)).code).toBe(1);
  await expect.poll(pair.readiness, eventually).toBe(200);
  expect((await pair.postern(...take, '--all')).code).toBe(0);
  await expect.poll(pair.readiness, eventually).toBe('data_lost');
  await expect
    .poll(() => pair.linesOf('redis.data_lost').at(-1), eventually)
    .toMatchObject({ foreign: 256, strangers: ['dp_somebody-else'] });
  expect((await pair.postern('accept-loss', '--deployment', deployment, '--all', '--yes')).code).toBe(0);
  await expect.poll(pair.readiness, eventually).toBe(200);
});

it('reports that Redis rolled back to an earlier state, and stays ready', async () => {
  await using pair = await startPair();
  const { redis, issue, readiness, linesOf, measured } = pair;
  const files = await filesOf(redis);
  await cp(files, `${files}.before`, { recursive: true });
  expect((await issue('alice')).status).toBe(201);
  await redis.kill();
  await rm(files, { recursive: true });
  await cp(`${files}.before`, files, { recursive: true });
  await redis.restart();
  await expect.poll(() => linesOf('redis.rolled_back').length, eventually).toBe(1);
  expect(linesOf('redis.rolled_back')).toMatchObject([{ audit: true, shards: 1, backMs: expect.any(Number) }]);
  await expect.poll(readiness, eventually).toBe(200);
  expect(await measured('postern_redis_rolled_back_total')).toBe('1');
  expect((await issue('alice')).status).toBe(201);
});
