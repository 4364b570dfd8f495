import { shardOf } from '@postern/elicitation';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { createKeys } from './keys.ts';

const { created, moved, operation, somebody } = samples;
const { answer, askFor, credentialFor } = kindSamples;
const keys = createKeys('postern');

/** The records of a user's credentials and passkeys in Redis, and their lifetimes. */
describe('stored credentials', () => {
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

  async function kept() {
    const form = await created(stores.elicitations, askFor('lasting', somebody()));
    await moved(stores.elicitations, form, answer(form));
    const { credentialId, subject } = credentialFor(form);
    return { credentialId, subject, key: keys.credential(credentialId) };
  }

  test('a credential stays until it is removed, and no part of it remains', async () => {
    const { key, subject, credentialId } = await kept();
    const index = keys.credentialsOf(shardOf(subject), subject);
    expect(await operator.smembers(index)).toEqual([credentialId]);
    expect([await operator.pttl(key), await operator.pttl(index)]).toEqual([-1, -1]);
    expect((await operator.hkeys(key)).sort()).toEqual(['createdAt', 'generation', 'q', 'record', 'updatedAt']);
    await stores.credentials.remove(credentialId);
    expect(await operator.exists(key, index)).toBe(0);
  });

  test('a credential under the key of another is rejected', async () => {
    const [own, foreign] = [await kept(), await kept()];
    await operator.hset(own.key, 'record', (await operator.hget(foreign.key, 'record')) ?? '');
    await expect(stores.credentials.read(own.credentialId)).rejects.toMatchObject({ code: 'unknown_record_layout' });
  });

  test('passkeys stay until they are removed, and a user without passkeys has no key', async () => {
    const subject = somebody();
    const passkey = { subject, passkeyId: operation(), publicKey: 'pQEC', signCount: 1 };
    await stores.passkeys.add({ ...passkey, transports: [], backedUp: false, label: 'Key' }, 5);
    const key = keys.passkeysOf(shardOf(subject), subject);
    expect(await operator.pttl(key)).toBe(-1);
    await stores.passkeys.use({ ...passkey, signCount: 2, backedUp: true });
    expect(await operator.hlen(key)).toBe(1);
    expect(await stores.passkeys.remove(subject, passkey.passkeyId)).toBe(true);
    expect(await operator.exists(key)).toBe(0);
  });

  test.each(['{"layout":2}', '{"layout":1}', 'not JSON', 'null'])('an unknown layout is rejected: %s', async record => {
    const { credentialId, key } = await kept();
    await operator.hset(key, 'record', record);
    await expect(stores.credentials.read(credentialId)).rejects.toMatchObject({ code: 'unknown_record_layout' });
  });
});
