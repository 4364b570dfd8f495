import { newOperationId, systemEntropy } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';

const operation = () => newOperationId(systemEntropy);
const redis = await startRedis();
afterAll(() => redis[Symbol.asyncDispose]());

describe('leases', () => {
  const clock = createFakeClock();
  let stores: RedisStores;
  beforeAll(async () => {
    stores = await createRedisStores({ url: redis.url, prefix: 'leases', now: clock.now });
  });
  afterAll(() => stores.close());
  const take = (holder: string, name = operation()) => stores.leases.take({ name, holder, leaseMs: 30_000 });

  test('a lease has one holder until it expires, then another', async () => {
    const name = operation();
    expect(await take('a', name)).toBe(true);
    expect(await take('b', name)).toBe(false);
    clock.advance(29_999);
    expect(await take('b', name)).toBe(false);
    expect(await take('a', name)).toBe(true);
    clock.advance(29_999);
    expect(await take('b', name)).toBe(false);
    clock.advance(1);
    expect(await take('b', name)).toBe(true);
    expect(await take('a', name)).toBe(false);
  });

  test('exactly one of many concurrent callers takes the lease', async () => {
    const name = operation();
    const taken = await Promise.all(Array.from({ length: 50 }, (_, at) => take(`holder ${at}`, name)));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  test('only the holder releases a lease', async () => {
    const name = operation();
    await take('a', name);
    await stores.leases.release({ name, holder: 'b' });
    expect(await take('b', name)).toBe(false);
    await stores.leases.release({ name, holder: 'a' });
    expect(await take('b', name)).toBe(true);
  });

  test('leases with different names are independent', async () => {
    expect(await take('a')).toBe(true);
    expect(await take('b')).toBe(true);
  });
});
