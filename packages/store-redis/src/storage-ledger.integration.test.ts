import { type CreateElicitation, type Shard, shardIn, shardOf } from '@postern/elicitation';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { createKeys } from './keys.ts';

const { AMPLE, ask, cancel, created, engage, from, MINUTE, moved, oneTimeFor, secretDigest, somebody } = samples;
const { answer, approve, askFor } = kindSamples;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const keys = createKeys('postern');

describe('the ledger of an MCP server in a shard', () => {
  let redis: RedisServer;
  let stores: RedisStores;
  let operator: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    operator = new Redis(redis.url);
    stores = await createRedisStores({ url: redis.url });
  });
  afterAll(async () => {
    operator.disconnect();
    await stores.close();
    await redis[Symbol.asyncDispose]();
  });

  const totalOf = async (shard: Shard, mcpServerId: string) => {
    const [, records, bytes] = ((await operator.hget(keys.ledger(shard, mcpServerId), 'sum')) ?? '0 0 0')
      .split(' ')
      .map(Number);
    return { records, bytes };
  };
  const newKey = () => ({ digest: secretDigest(), fingerprint: secretDigest() });
  const later = (request: CreateElicitation) => from('tracker', { ...request, coalescingDigest: secretDigest() });

  test('S73: charges at least the memory that Redis uses, for every kind of request and answer', async () => {
    await operator.flushall();
    await using fresh = await createRedisStores({ url: redis.url });
    const person = somebody();
    const shard = shardOf(person);
    const withMessage = (length: number) => {
      const request = ask(person);
      return later({ ...request, elicitation: { ...request.elicitation, message: 'm'.repeat(length) } });
    };
    for (const length of [0, 50, 400, 600, 4_000, 20_500, 32_800]) {
      const one = await created(fresh.elicitations, withMessage(length));
      const two = await moved(fresh.elicitations, await created(fresh.elicitations, withMessage(length)), engage);
      await moved(fresh.elicitations, one, cancel);
      const record = { ...oneTimeFor(two.elicitationId), mcpServerId: 'tracker', sealed: 's'.repeat(length) };
      const retry = { events: ['retry'], next: { status: 'pending', retryReason: 'provider_denied' } } as const;
      await moved(fresh.elicitations, two, retry, { ...engage, putOneTime: { record, ttlMs: MINUTE } });
      const form = await moved(
        fresh.elicitations,
        await created(fresh.elicitations, later(askFor('form', person))),
        engage,
      );
      await moved(fresh.elicitations, form, { ...answer(form), putResult: { sealed: 's'.repeat(length) } });
      const payment = await created(fresh.elicitations, later(askFor('payment', person)));
      await moved(fresh.elicitations, payment, approve);
      const named = { shard, mcpServerId: 'tracker', quota: AMPLE };
      await fresh.idempotency.put({ ...newKey(), ...named, response: 'r'.repeat(length) });
      await created(fresh.elicitations, { ...withMessage(length), idempotencyKey: newKey() });
    }
    const names = (await operator.keys('*')).filter(
      name => !/:(epoch|cursor|events|feed|fed|quota|fence)(:|$)/.test(name),
    );
    const used = await Promise.all(
      names.map(async name => Number(await operator.memory('USAGE', name, 'SAMPLES', 0)) + 46),
    );
    const { bytes = 0, records } = await totalOf(shard, 'tracker');
    expect(bytes).toBeGreaterThan(used.reduce((sum, each) => sum + each, 0));
    expect(records).toBe(7 * 8);
  });

  test('a ledger counts records by the hour of their expiry, and expires with the last one', async () => {
    const request = later(ask(somebody()));
    const elicitation = await created(stores.elicitations, request);
    const key = keys.ledger(shardIn(elicitation.elicitationId), 'tracker');
    const hour = Math.ceil((elicitation.expiresAt + DAY) / HOUR);
    const { sum, share, ...hours } = await operator.hgetall(key);
    expect(hours).toEqual({ [hour]: expect.stringMatching(/^1 \d+$/) });
    expect(sum?.split(' ').slice(1).join(' ')).toBe(hours[hour]);
    expect(share).toBe(`${Math.floor(AMPLE.records / 256)} ${Math.floor(AMPLE.bytes / 256)}`);
    const left = await operator.pexpiretime(key);
    expect(left).toBeLessThanOrEqual(hour * HOUR + MINUTE);
    expect(left).toBeGreaterThan(hour * HOUR - MINUTE);
    await moved(stores.elicitations, elicitation, cancel);
    expect(await totalOf(shardIn(elicitation.elicitationId), 'tracker')).toMatchObject({ records: 1 });
  });

  test('counts a record of an earlier release from its next transition on, and never reverses a charge that was not made', async () => {
    const elicitation = await created(stores.elicitations, later(ask(somebody())));
    const shard = shardIn(elicitation.elicitationId);
    await operator.del(keys.ledger(shard, 'tracker'));
    await operator.hdel(keys.elicitation(elicitation.elicitationId), 'q');
    const active = await moved(stores.elicitations, elicitation, engage);
    expect(await totalOf(shard, 'tracker')).toMatchObject({ records: 1 });
    await operator.del(keys.ledger(shard, 'tracker'));
    await moved(stores.elicitations, active, cancel);
    expect(await totalOf(shard, 'tracker')).toMatchObject({ records: 1 });
  });
});
