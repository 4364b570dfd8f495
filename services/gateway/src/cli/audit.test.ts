import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleConfig } from '../testing/sample-config.ts';
import { runCli } from './run-cli.ts';

let redis: RedisServer;
let stores: RedisStores;
let folder: string;
beforeAll(async () => {
  redis = await startRedis();
  stores = await createRedisStores({ url: redis.url, prefix: 'audit', audit: { people: { lines: 1000 } } });
  folder = await mkdtemp(join(tmpdir(), 'postern-audit-'));
  const configured = { redis: { url: redis.url, prefix: 'audit' } };
  await writeFile(join(folder, 'on.yaml'), JSON.stringify(sampleConfig({ ...configured, audit: { stream: true } })));
  await writeFile(join(folder, 'off.yaml'), JSON.stringify(sampleConfig(configured)));
});
afterAll(async () => {
  await stores?.close();
  await redis?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function run(args: readonly string[], signal = new AbortController().signal, unread = new AbortController().signal) {
  const out: string[] = [];
  const err: string[] = [];
  const code = runCli(['audit', ...args], {
    env: {},
    isTerminal: false,
    signal,
    unread,
    out: text => out.push(text),
    err: text => err.push(text),
  });
  return { code, out, err };
}
const on = () => ['-c', join(folder, 'on.yaml')];

describe('postern audit', () => {
  test('prints the retained events, oldest first, with control characters escaped', async () => {
    const kept = Array.from({ length: 1_200 }, (_, n) => JSON.stringify({ event: 'x', n }));
    for (const line of kept) await stores.audits.append('people', line);
    await stores.audits.append('people', '{"event":"a\u009b2Jb\u2028"}');
    const { code, out } = run(on());
    expect(await code).toBe(0);
    const numbers = out.slice(0, -1).map(line => JSON.parse(line).n);
    expect(numbers).toEqual(numbers.map((_, at) => 1_200 - numbers.length + at));
    expect(numbers.length).toBeGreaterThanOrEqual(999);
    expect(out.at(-1)).toBe('{"event":"a\\u009b2Jb\\u2028"}\n');
  });

  test('S205: what operators did outlives any number of lines of users, in the order of time', async () => {
    await stores.audits.append('operators', '{"event":"first"}');
    for (let n = 0; n < 1_300; n += 1) await stores.audits.append('people', '{"event":"of users"}');
    await stores.audits.append('operators', '{"event":"last"}');
    const { code, out } = run(on());
    expect(await code).toBe(0);
    const events = out.map(line => JSON.parse(line).event);
    expect(events).not.toContain('x');
    expect(events[0]).toBe('first');
    expect(events.filter(event => event !== 'of users')).toEqual(['first', 'last']);
  });

  test('follows until it is interrupted', async () => {
    const stop = new AbortController();
    const { code, out } = run([...on(), '--follow'], stop.signal);
    await expect.poll(() => out.length).toBeGreaterThan(900);
    for (const stream of ['people', 'operators', 'people'] as const)
      await stores.audits.append(stream, `{"event":"later","stream":"${stream}"}`);
    await expect.poll(() => out.filter(line => line.startsWith('{"event":"later"'))).toHaveLength(3);
    stop.abort();
    expect(await code).toBe(130);
  });

  test('stops following, as after its last line, when the reader has gone', async () => {
    const gone = new AbortController();
    const { code, out } = run([...on(), '--follow'], undefined, gone.signal);
    await expect.poll(() => out.length).toBeGreaterThan(900);
    gone.abort();
    expect(await Promise.race([code, delay(4_000, 'follows on', { ref: false })])).toBe(0);
  });

  test('S181: prints only the lines of one API key', async () => {
    const lines = [{ apiKeyId: 'ak_1' }, { apiKeyId: 'ak_12' }, { note: 'ak_1' }, {}];
    for (const line of lines) await stores.audits.append('people', JSON.stringify({ event: 'used', ...line }));
    const { code, out } = run([...on(), '--api-key', 'ak_1']);
    expect(await code).toBe(0);
    expect(out.map(line => JSON.parse(line))).toEqual([{ event: 'used', apiKeyId: 'ak_1' }]);
  });

  test('S177: prints OCSF on request, and refuses another format', async () => {
    const { code, out } = run([...on(), '--format', 'ocsf']);
    expect(await code).toBe(0);
    expect(out.length).toBeGreaterThan(0);
    for (const line of out) expect(JSON.parse(line)).toMatchObject({ class_uid: 0, metadata: { version: '1.8.0' } });
    const refused = run([...on(), '--format', 'cef']);
    expect([await refused.code, refused.out]).toEqual([2, []]);
  });

  test('says that Redis has only the acts of operators if audit.stream is off', async () => {
    const { code, out, err } = run(['-c', join(folder, 'off.yaml')]);
    expect(await code).toBe(0);
    expect(out.every(line => JSON.parse(line))).toBe(true);
    expect(err.join('')).toContain('audit.stream');
  });
});
