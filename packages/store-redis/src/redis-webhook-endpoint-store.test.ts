import { startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';

const redis = await startRedis();
afterAll(() => redis[Symbol.asyncDispose]());

describe('webhook endpoints', () => {
  let stores: RedisStores;
  let round = 0;
  beforeAll(async () => {
    stores = await createRedisStores({ url: redis.url, prefix: 'endpoints' });
  });
  afterAll(() => stores.close());
  const fresh = () => {
    round += 1;
    return `tracker.hook-${round}`;
  };

  test('a new endpoint has no record', async () => {
    expect(await stores.webhookEndpoints.read(fresh())).toEqual({});
  });

  test('the cursor moves only from its current position', async () => {
    const { webhookEndpoints } = stores;
    const name = fresh();
    expect(await webhookEndpoints.moveCursor(name, { from: '1-0', to: '2-0' })).toBe(false);
    expect(await webhookEndpoints.moveCursor(name, { from: undefined, to: '0-0' })).toBe(true);
    expect(await webhookEndpoints.moveCursor(name, { from: undefined, to: '5-0' })).toBe(false);
    expect(await webhookEndpoints.moveCursor(name, { from: '0-0', to: '5-0' })).toBe(true);
    expect(await webhookEndpoints.moveCursor(name, { from: '0-0', to: '3-0' })).toBe(false);
    expect(await webhookEndpoints.read(name)).toEqual({ cursor: '5-0' });
  });

  test('one of many concurrent callers moves the cursor, and a repeat of its move succeeds', async () => {
    const { webhookEndpoints } = stores;
    const name = fresh();
    const moves = Array.from({ length: 20 }, (_, at) => ({ from: undefined, to: `${at + 1}-0` }));
    const moved = await Promise.all(moves.map(move => webhookEndpoints.moveCursor(name, move)));
    expect(moved.filter(Boolean)).toHaveLength(1);
    const winner = moves[moved.indexOf(true)];
    expect(winner && (await webhookEndpoints.moveCursor(name, winner))).toBe(true);
  });

  test('failures count from the first one after a success', async () => {
    const { webhookEndpoints } = stores;
    const name = fresh();
    expect(await webhookEndpoints.noteFailure(name, 1_000)).toBe(1_000);
    expect(await webhookEndpoints.noteFailure(name, 2_000)).toBe(1_000);
    await webhookEndpoints.noteSuccess(name);
    expect(await webhookEndpoints.noteFailure(name, 3_000)).toBe(3_000);
  });

  test('an endpoint is disabled once, for the first reason, and enabling it clears the failures', async () => {
    const { webhookEndpoints } = stores;
    const name = fresh();
    await webhookEndpoints.noteFailure(name, 1_000);
    expect(await webhookEndpoints.enable(name)).toBe(false);
    await webhookEndpoints.noteFailure(name, 1_000);
    expect(await webhookEndpoints.disable(name, { reason: 'gone', now: 5 })).toBe(true);
    expect(await webhookEndpoints.disable(name, { reason: 'failing', now: 6 })).toBe(false);
    expect((await webhookEndpoints.read(name)).disabled).toEqual({ reason: 'gone', at: 5 });
    expect(await webhookEndpoints.enable(name)).toBe(true);
    expect(await webhookEndpoints.read(name)).toEqual({});
  });

  test.each(['', 'tracker', 'tracker.', 'tracker.a}b', 'tracker.{a}', 'a.b.c', 'A.b'])(
    'rejects the endpoint name %j',
    async name => {
      await expect(stores.webhookEndpoints.read(name)).rejects.toThrow(TypeError);
    },
  );
});
