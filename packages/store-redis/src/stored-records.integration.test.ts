import { digestOf, shardIn, shardOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { askOf, createKeys } from './keys.ts';

const {
  ask,
  browserSessionIdOf,
  cancel,
  created,
  engage,
  MINUTE,
  moved,
  oneTimeFor,
  operation,
  secretDigest,
  somebody,
} = samples;

const HOUR = 60 * MINUTE;
const RETENTION = 2 * HOUR;
const keys = createKeys('postern');

/** What is in Redis afterwards: names, lifetimes, sizes, and nothing that a caller smuggled in. */
describe('stored records', () => {
  let redis: RedisServer;
  let stores: RedisStores;
  let operator: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    operator = new Redis(redis.url);
    stores = await createRedisStores({ url: redis.url, retentionMs: RETENTION });
  });
  afterAll(async () => {
    operator.disconnect();
    await stores.close();
    await redis[Symbol.asyncDispose]();
  });

  const pending = () => created(stores.elicitations, ask(somebody()));
  /** Lifetimes only shrink, and a test is done within a minute. */
  const expectLifetime = async (key: string, ms: number) => {
    const left = await operator.pttl(key);
    expect(left).toBeLessThanOrEqual(ms);
    expect(left).toBeGreaterThan(ms - MINUTE);
  };

  test('an elicitation outlives its time by the retention, and its end by the retention', async () => {
    const elicitation = await pending();
    const key = keys.elicitation(elicitation.elicitationId);
    await expectLifetime(key, samples.TTL_MS + RETENTION);
    const active = await moved(stores.elicitations, elicitation, engage);
    await expectLifetime(key, samples.TTL_MS + RETENTION);
    await moved(stores.elicitations, active, cancel);
    await expectLifetime(key, RETENTION);
  });

  test('an end leaves neither the index entry nor the open ask', async () => {
    const request = ask(somebody());
    const { elicitationId } = request.elicitation;
    const shard = shardIn(elicitationId);
    const elicitation = await created(stores.elicitations, request);
    expect(await operator.zscore(keys.due(shard), elicitationId)).toBe(String(elicitation.expiresAt));
    expect(await operator.hget(keys.open(shard), askOf(request.coalescingDigest))).toBe(elicitationId);
    await moved(stores.elicitations, elicitation, cancel);
    expect(await operator.zscore(keys.due(shard), elicitationId)).toBeNull();
    expect(await operator.hexists(keys.open(shard), askOf(request.coalescingDigest))).toBe(0);
  });

  test('index entries without a record are dropped when nobody swept for the whole retention', async () => {
    const person = somebody();
    const shard = shardOf(person);
    const [orphan, kept] = [ask(person), ask(person, { coalescingDigest: secretDigest() })];
    await created(stores.elicitations, orphan);
    await created(stores.elicitations, kept);
    const { elicitationId } = orphan.elicitation;
    const [seconds] = await operator.time();
    await operator.zadd(keys.due(shard), String(Number(seconds) * 1_000 - RETENTION - 1), elicitationId);
    expect(await stores.elicitations.due(shard, 100)).toEqual([]);
    expect(await operator.zrange(keys.due(shard), '0', '-1')).toEqual([kept.elicitation.elicitationId]);
    expect(await operator.hvals(keys.open(shard))).toEqual([kept.elicitation.elicitationId]);
  });

  test('one-time records, claims, limits, browser sessions and idempotency records expire by themselves', async () => {
    const elicitation = await pending();
    const shard = shardIn(elicitation.elicitationId);
    const record = oneTimeFor(elicitation.elicitationId);
    await moved(stores.elicitations, elicitation, { ...engage, putOneTime: { record, ttlMs: 5 * MINUTE } });
    await expectLifetime(keys.oneTime(shard, record.digest), 5 * MINUTE);
    await stores.oneTime.consume(shard, record.digest);
    await expectLifetime(keys.oneTime(shard, record.digest), 10 * MINUTE);
    expect(await operator.hgetall(keys.oneTime(shard, record.digest))).not.toHaveProperty('sealed');

    await stores.oneTime.claim(record.digest, 5 * MINUTE);
    await expectLifetime(keys.claim(record.digest), 5 * MINUTE);

    await expectLifetime(keys.subjectLimit(shard, 'issue-tracker', elicitation.subject), MINUTE);

    const subject = somebody();
    const id = browserSessionIdOf(subject);
    const session = { id, subject, origin: { identityProvider: 'example' }, displayName: 'Alice' };
    await stores.browserSessions.create(session, { idleMs: 30 * MINUTE, absoluteMs: HOUR });
    await expectLifetime(keys.browserSession(id), 30 * MINUTE);

    const idempotent = { digest: secretDigest(), fingerprint: 'body' };
    await stores.idempotency.begin({ ...idempotent, reservation: operation(), leaseMs: MINUTE });
    await expectLifetime(keys.idempotency(idempotent.digest), 24 * HOUR);
    await stores.idempotency.finish({ ...idempotent, response: 'answer', retentionMs: 48 * HOUR });
    await expectLifetime(keys.idempotency(idempotent.digest), 48 * HOUR);
  });

  test('the id of a browser session is nowhere', async () => {
    const subject = somebody();
    const id = browserSessionIdOf(subject);
    const session = { id, subject, origin: { identityProvider: 'example' }, displayName: 'Alice' };
    await stores.browserSessions.create(session, { idleMs: MINUTE, absoluteMs: HOUR });
    const found = await operator.keys('*:bs:*');
    expect(found.join()).toContain(digestOf(id));
    expect(found.join()).not.toContain(id.slice(5));
    expect(JSON.stringify(await operator.hgetall(keys.browserSession(id)))).not.toContain(id.slice(5));
  });

  test('creating is one round trip', async () => {
    const monitor = await operator.monitor();
    const request = ask(somebody());
    const seen: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (args[1] === 'end-of-test') resolve();
      else if (source !== 'lua') seen.push(args[0] ?? '');
    });
    await created(stores.elicitations, request);
    await operator.get('end-of-test');
    await promise;
    monitor.disconnect();
    expect(seen).toHaveLength(1);
    expect(seen[0]?.toLowerCase()).toMatch(/^eval(sha)?$/);
  });

  test.each([
    { noun: 'elicitation', key: () => pending().then(({ elicitationId }) => keys.elicitation(elicitationId)) },
    {
      noun: 'connection',
      key: async () => {
        const active = await moved(stores.elicitations, await pending(), engage);
        await moved(stores.elicitations, active, samples.complete(active));
        return keys.connection(ask(active.subject).connectionId);
      },
    },
  ])('an unknown layout is refused: $noun', async ({ key }) => {
    const name = await key();
    const record = JSON.parse((await operator.hget(name, 'record')) ?? '');
    const reread = async () => {
      const [, shard, noun, secret] = /\{(..)\}:(el|cn):(.*)$/.exec(name) ?? [];
      const id = `${noun}_${shard}${secret}`;
      return noun === 'el'
        ? stores.elicitations.read(id as `el_${string}`)
        : stores.connections.read(id as `cn_${string}`);
    };
    for (const damaged of [JSON.stringify({ ...record, layout: 2 }), '{"layout":1}', 'not JSON', '"text"', 'null']) {
      await operator.hset(name, 'record', damaged);
      await expect(reread()).rejects.toMatchObject({ code: 'unknown_record_layout' });
    }
    await operator.hset(name, 'record', JSON.stringify({ ...record, addedLater: true }));
    expect(await reread()).toBeDefined();
  });

  test('lists and objects never reach Redis', async () => {
    const request = ask(somebody());
    const { elicitationId } = request.elicitation;
    const payloads: unknown[] = [['x', 'EX', '1'], { status: 'completed' }, [], null, undefined, Number.NaN, 1.5, true];
    for (const payload of payloads) {
      const smuggled = payload as never;
      const attempts = [
        stores.elicitations.create({ ...request, operationId: smuggled }),
        stores.elicitations.create({ ...request, coalescingDigest: smuggled }),
        stores.elicitations.create({ ...request, ttlMs: smuggled }),
        stores.oneTime.claim(secretDigest(), smuggled),
        stores.idempotency.begin({ digest: secretDigest(), fingerprint: smuggled, reservation: 'r', leaseMs: 1 }),
        stores.events.read(shardIn(elicitationId), { limit: smuggled }),
      ];
      for (const result of await Promise.allSettled(attempts)) {
        expect(result).toMatchObject({ status: 'rejected', reason: { name: 'TypeError' } });
      }
    }
    expect(await stores.elicitations.read(elicitationId)).toBeUndefined();
    expect(await operator.keys('*x,EX*')).toEqual([]);
  });

  test('text of users stays text, whatever it looks like', async () => {
    const plain = ask(somebody());
    const message = '"]] redis.call("FLUSHALL") --\r\n$1\r\n\u0000{x}';
    const elicitation = await created(stores.elicitations, {
      ...plain,
      elicitation: { ...plain.elicitation, message },
    });
    expect(await stores.elicitations.read(elicitation.elicitationId)).toMatchObject({ message });
  });
});

/** Nothing but live elicitations in this Redis, as many per shard as make its indexes take their large form. */
test('a live elicitation costs at most 1.5 KB with its indexes and its event', async () => {
  await using redis = await startRedis({ args: ['--appendonly', 'yes'] });
  await using stores = await createRedisStores({ url: redis.url });
  const operator = new Redis(redis.url);
  const used = async () => Number(/used_memory:(\d+)/.exec(await operator.info('memory'))?.[1]);

  const subject = { issuer: 'https://id.example.com', subject: '8c5b1a7e-3f7e-4a55-9d0c-2f1f6a7f9d11' };
  const typical = () => {
    const request = ask(subject, { coalescingDigest: secretDigest(), subjectLimit: { max: 1e9, windowMs: HOUR } });
    return {
      ...request,
      elicitation: {
        ...request.elicitation,
        request: { kind: 'authorization', provider: 'github', scopes: ['read:user', 'repo'] } as const,
        message: 'To create the issue, I need access to your GitHub account.',
        requestedBy: { mcpClient: 'Example Desktop', tool: 'create_issue' },
      },
    };
  };
  await created(stores.elicitations, typical());
  const before = await used();
  const count = 4_000;
  for (let made = 0; made < count; made += 500) {
    await Promise.all(Array.from({ length: 500 }, () => created(stores.elicitations, typical())));
  }
  const each = ((await used()) - before) / count;
  operator.disconnect();
  expect(each).toBeLessThan(1.5 * 1_024);
});
