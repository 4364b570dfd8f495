import {
  connectionIdOf,
  newElicitationId,
  newRevocationId,
  type SealedRecordsStep,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { kindSamples, samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { createKeys } from './keys.ts';

const { created, moved, operation, somebody } = samples;
const { answer, askFor } = kindSamples;
const redis = await startRedis();
afterAll(() => redis[Symbol.asyncDispose]());

async function stepsOf(stores: RedisStores): Promise<readonly SealedRecordsStep[]> {
  const steps: SealedRecordsStep[] = [];
  for await (const step of stores.sealedRecords.walk()) steps.push(step);
  return steps;
}

const sealedValue = () => `${operation()}.${operation()}`;

describe('sealed records in one Redis', () => {
  let stores: RedisStores;
  let operator: Redis;
  const keys = createKeys('alone');
  beforeAll(async () => {
    stores = await createRedisStores({ url: redis.url, prefix: 'alone' });
    operator = new Redis(redis.url);
  });
  afterAll(async () => {
    operator.disconnect();
    await stores.close();
  });

  test('a revocation keeps its lifetime, and the walk skips other prefixes', async () => {
    await using others = await createRedisStores({ url: redis.url, prefix: 'others' });
    await others.clientRegistrations.putIfAbsent('digest', 'sealed');
    const subject = somebody();
    const revocationId = newRevocationId(shardOf(subject), systemEntropy);
    const sealed = sealedValue();
    const elicitationId = newElicitationId(shardOf(subject), systemEntropy);
    const bound = { owner: 'issue-tracker', subject, provider: 'github', elicitationId };
    await stores.revocations.add({ ...bound, revocationId, sealedTokens: sealed });
    const before = await operator.pttl(keys.revocation(revocationId));
    expect(await stores.sealedRecords.replace({ kind: 'revocation', id: revocationId, sealed }, 'next')).toBe(true);
    const after = await operator.pttl(keys.revocation(revocationId));
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThanOrEqual(before);
    const steps = await stepsOf(stores);
    expect(steps.flatMap(step => step.records)).toEqual([
      { ...bound, kind: 'revocation', id: revocationId, sealed: 'next' },
    ]);
  });

  test('a replaced result keeps its lifetime', async () => {
    const form = await created(stores.elicitations, askFor('form', somebody()));
    const sealed = sealedValue();
    const { elicitationId: id } = await moved(stores.elicitations, form, answer(form, sealed));
    const before = await operator.pttl(keys.result(id));
    expect(await stores.sealedRecords.replace({ kind: 'result', id, sealed }, 'next')).toBe(true);
    const after = await operator.pttl(keys.result(id));
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThanOrEqual(before);
    await operator.del(keys.result(id));
  });

  test.each(['no JSON', '{}', '{"sealedTokens":1}'])('the walk reports an unreadable record: %s', async record => {
    const subject = somebody();
    const connectionId = connectionIdOf({ owner: 'issue-tracker', subject, provider: 'github' });
    await operator.hset(keys.connection(connectionId), 'record', record);
    const steps = await stepsOf(stores);
    expect(steps.flatMap(step => step.unreadable)).toEqual([{ kind: 'connection', id: connectionId }]);
    await operator.del(keys.connection(connectionId));
  });

  test.each(['', 'a"b', 'a b', 'a\n', '\\'])('stores nothing but sealed values: rejects %j', async value => {
    const record = { kind: 'registration', id: 'digest', sealed: value } as const;
    await expect(stores.sealedRecords.replace(record, 'next')).rejects.toThrowError(TypeError);
    await expect(stores.sealedRecords.replace({ ...record, sealed: 'next' }, value)).rejects.toThrowError(TypeError);
  });
});
