import { randomUUID } from 'node:crypto';
import { digestOf, newRevocationId, type Subject, shardIn, shardOf, systemEntropy } from '@postern/elicitation';
import { kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { askOf, createKeys } from './keys.ts';
import { RECORD_FIELDS } from './redis-elicitation-store.ts';

const { ask, browserSessionIdOf, cancel, connectionIdFor, created, engage, MINUTE, moved } = samples;
const { AMPLE, oneTimeFor, passkeyFor, secretDigest, somebody } = samples;

const HOUR = 60 * MINUTE;
const RETENTION = 2 * HOUR;
const PAYMENT_RETENTION = 20 * HOUR;
const keys = createKeys('postern');

/** The records in Redis after each call: names, lifetimes, sizes, and nothing that a caller injected. */
describe('stored records', () => {
  let redis: RedisServer;
  let stores: RedisStores;
  let operator: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    operator = new Redis(redis.url);
    stores = await createRedisStores({ url: redis.url, retentionMs: RETENTION, paymentRetentionMs: PAYMENT_RETENTION });
  });
  afterAll(async () => {
    operator.disconnect();
    await stores.close();
    await redis[Symbol.asyncDispose]();
  });

  const pending = () => created(stores.elicitations, ask(somebody()));
  /** Lifetimes only shrink, and a test takes less than a minute. */
  const expectLifetime = async (key: string, ms: number) => {
    const left = await operator.pttl(key);
    expect(left).toBeLessThanOrEqual(ms);
    expect(left).toBeGreaterThan(ms - MINUTE);
  };

  test('an elicitation is kept for the retention after its expiry or its end', async () => {
    const elicitation = await pending();
    const key = keys.elicitation(elicitation.elicitationId);
    await expectLifetime(key, samples.TTL_MS + RETENTION);
    const active = await moved(stores.elicitations, elicitation, engage);
    await expectLifetime(key, samples.TTL_MS + RETENTION);
    await moved(stores.elicitations, active, cancel);
    await expectLifetime(key, RETENTION);
  });

  test('S68: a payment is kept after its elicitation for the retention of payments', async () => {
    const asked = await created(stores.elicitations, kindSamples.askFor('payment', somebody()));
    const charging = await moved(stores.elicitations, asked, kindSamples.approve, kindSamples.charge);
    await moved(stores.elicitations, charging, kindSamples.answer(charging));
    const key = keys.payments(asked.elicitationId);
    expect(await operator.hgetall(key)).toMatchObject({ pi_1: 'counted', ':version': '1' });
    await expectLifetime(key, PAYMENT_RETENTION);
    await operator.pexpire(key, MINUTE);
    await stores.payments.recordReported(asked.elicitationId, 'pi_2');
    await expectLifetime(key, PAYMENT_RETENTION);
  });

  test('an end removes the index entry and the open request', async () => {
    const request = ask(somebody());
    const { elicitationId } = request.elicitation;
    const shard = shardIn(elicitationId);
    const elicitation = await created(stores.elicitations, request);
    expect(await operator.zscore(keys.due(shard), elicitationId)).toBe(String(elicitation.expiresAt));
    expect(await operator.hget(keys.open(shard), askOf(request.coalescingDigest))).toBe(elicitationId);
    await moved(stores.elicitations, elicitation, cancel);
    expect(await operator.zscore(keys.due(shard), elicitationId)).toBeNull();
    expect(await operator.hexists(keys.open(shard), askOf(request.coalescingDigest))).toBe(0);
    expect(await operator.exists(keys.openOf(shard, 'issue-tracker', request.elicitation.subject))).toBe(0);
  });

  test('the next request or the expiry drops expired entries of the index of open elicitations', async () => {
    const person = somebody();
    const key = keys.openOf(shardOf(person), 'issue-tracker', person);
    const make = (ttlMs: number) =>
      created(stores.elicitations, ask(person, { coalescingDigest: secretDigest(), ttlMs }));
    await make(HOUR);
    await make(MINUTE);
    await expectLifetime(key, HOUR);
    await operator.zadd(key, '1', ask(person).elicitation.elicitationId);
    expect(await stores.elicitations.listOpen(person, ['issue-tracker'])).toHaveLength(2);
    await make(2 * MINUTE);
    expect(await operator.zcard(key)).toBe(3);
    expect(await operator.zcount(key, '-inf', '1')).toBe(0);
    await expectLifetime(key, HOUR);
  });

  test('an index entry whose elicitation is gone or has ended is not listed', async () => {
    const person = somebody();
    const shard = shardOf(person);
    const elicitation = await created(stores.elicitations, ask(person));
    const key = keys.openOf(shard, 'issue-tracker', person);
    await moved(stores.elicitations, elicitation, cancel);
    const later = String(elicitation.expiresAt + HOUR);
    await operator.zadd(key, later, elicitation.elicitationId, later, ask(person).elicitation.elicitationId);
    expect(await stores.elicitations.listOpen(person, ['issue-tracker'])).toEqual([]);
  });

  test('drops index entries without a record after a whole retention without a sweep', async () => {
    let person = somebody();
    while ((await operator.exists(keys.due(shardOf(person)), keys.open(shardOf(person)))) > 0) person = somebody();
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

  test('one-time records, claims, limits, browser sessions and idempotency records expire', async () => {
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

    const [creating, answering] = [secretDigest(), secretDigest()];
    const idempotencyKey = { digest: creating, fingerprint: 'body' };
    await created(stores.elicitations, ask(subject, { idempotencyKey }));
    await expectLifetime(keys.idempotency(shardOf(subject), creating), 24 * HOUR);
    const named = { shard: shardOf(subject), mcpServerId: 'issue-tracker', quota: AMPLE };
    await stores.idempotency.put({ ...idempotencyKey, ...named, digest: answering, response: 'answer' });
    await expectLifetime(keys.idempotency(shardOf(subject), answering), 24 * HOUR);
  });

  /** A connection with every optional field at the same time. */
  async function connected() {
    const active = await moved(stores.elicitations, await pending(), engage);
    await moved(stores.elicitations, active, samples.complete(active));
    const connectionId = connectionIdFor(active.subject);
    const current = await stores.connections.read(connectionId);
    if (current === undefined) throw new Error('Expected a connection.');
    return { current, key: keys.connection(connectionId), subject: active.subject };
  }

  test('a connection stays until it is removed, and no part of it remains', async () => {
    const { current, key, subject } = await connected();
    const index = keys.connectionsOf(shardOf(subject), subject);
    expect(await operator.smembers(index)).toEqual([current.connectionId]);
    expect([await operator.pttl(key), await operator.pttl(index)]).toEqual([-1, -1]);
    await stores.connections.remove(current);
    expect(await operator.exists(key, index)).toBe(0);
  });

  test('a new token set leaves no field of the previous one', async () => {
    const { current, key } = await connected();
    const lasting = ['generation', 'createdAt', 'updatedAt', 'record', 'q'];
    expect((await operator.hkeys(key)).sort()).toEqual(lasting.sort());
    await stores.connections.recordUse({ ...current, use: { mcpServerId: 'issue-tracker' } });
    await stores.connections.beginRefresh({ current, holder: 'one', leaseMs: MINUTE });
    await stores.connections.postponeRefresh({ current, holder: 'one', delayMs: 0 });
    await stores.connections.beginRefresh({ current, holder: 'two', leaseMs: MINUTE });
    await stores.connections.finishRefresh({ current, ...samples.renewed('canary-of-the-second') });
    expect((await operator.hkeys(key)).sort()).toEqual([...lasting, 'lastUse', 'refreshedBy'].sort());
    expect(JSON.stringify(await operator.hgetall(key))).not.toContain('sealed-tokens');
  });

  test('revocations contain tokens: finished ones leave nothing, forgotten ones expire after eight days', async () => {
    const { current, subject } = await connected();
    const shard = shardOf(subject);
    const [moved, added] = [newRevocationId(shard, systemEntropy), newRevocationId(shard, systemEntropy)];
    await stores.connections.remove({ ...current, revocationId: moved });
    await stores.revocations.add({ ...current, revocationId: added });
    for (const revocationId of [moved, added]) {
      await expectLifetime(keys.revocation(revocationId), 8 * 24 * HOUR);
      await stores.revocations.claimOne(revocationId, MINUTE);
      await stores.revocations.postpone(revocationId, 30 * 24 * HOUR);
      await expectLifetime(keys.revocation(revocationId), 8 * 24 * HOUR);
      expect(await operator.zscore(keys.dueRevocations(shard), revocationId)).not.toBeNull();
      await stores.revocations.finish({ ...current, revocationId });
      expect(await operator.exists(keys.revocation(revocationId))).toBe(0);
      expect(await operator.zscore(keys.dueRevocations(shard), revocationId)).toBeNull();
    }
  });

  test('an index entry whose revocation is gone is dropped when it is claimed', async () => {
    const subject = somebody();
    const shard = shardOf(subject);
    const revocationId = newRevocationId(shard, systemEntropy);
    await operator.zadd(keys.dueRevocations(shard), '1', revocationId);
    expect(await stores.revocations.claim(shard, { limit: 100, leaseMs: MINUTE })).toEqual([]);
    expect(await operator.zscore(keys.dueRevocations(shard), revocationId)).toBeNull();
  });

  test('an unreadable revocation does not hold up others, and is reported once it is the only one', async () => {
    const subject = somebody();
    const shard = shardOf(subject);
    const of = { ...samples.connectionFor(subject, ask(subject).elicitation.elicitationId) };
    const [broken, fine] = [newRevocationId(shard, systemEntropy), newRevocationId(shard, systemEntropy)];
    for (const revocationId of [broken, fine]) await stores.revocations.add({ ...of, revocationId });
    await operator.hset(keys.revocation(broken), 'record', '{"layout":2}');
    const claim = () => stores.revocations.claim(shard, { limit: 100, leaseMs: 0 });
    expect((await claim()).map(({ revocationId }) => revocationId)).toEqual([fine]);
    await stores.revocations.finish({ ...of, revocationId: fine });
    await expect(claim()).rejects.toMatchObject({ code: 'unknown_record_layout' });
  });

  test('a connection of the previous release cannot be refreshed', async () => {
    const { current, key } = await connected();
    const { refreshable: _, ...older } = JSON.parse((await operator.hget(key, 'record')) ?? '');
    await operator.hset(key, 'record', JSON.stringify(older));
    expect(await stores.connections.read(current.connectionId)).toEqual({ ...current, refreshable: false });
  });

  test.each(['lost', 'lastUse'])('a connection with an unreadable field is rejected: %s', async field => {
    const { current, key } = await connected();
    for (const damaged of ['', 'refused', '12', '12 nonsense', '12 {}', 'x refused', '1.5 refused']) {
      await operator.hset(key, field, damaged);
      const reread = stores.connections.read(current.connectionId);
      await expect(reread).rejects.toMatchObject({ code: 'unknown_record_layout' });
    }
  });

  test('no record contains the id of a browser session', async () => {
    const subject = somebody();
    const id = browserSessionIdOf(subject);
    const session = { id, subject, origin: { identityProvider: 'example' }, displayName: 'Alice' };
    await stores.browserSessions.create(session, { idleMs: MINUTE, absoluteMs: HOUR });
    const found = await operator.keys('*:bs:*');
    expect(found.join()).toContain(digestOf(id));
    expect(found.join()).not.toContain(id.slice(5));
    expect(JSON.stringify(await operator.hgetall(keys.browserSession(id)))).not.toContain(id.slice(5));
  });

  test('create takes one round trip', async () => {
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
        return keys.connection(connectionIdFor(active.subject));
      },
    },
  ])('an unknown layout is refused: $noun', async ({ key }) => {
    const name = await key();
    const record = JSON.parse((await operator.hmget(name, ...RECORD_FIELDS)).join(''));
    await operator.hdel(name, ...RECORD_FIELDS);
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
    const current = { connectionId: connectionIdFor(request.elicitation.subject), createdAt: 1, generation: 1 };
    const revocationId = newRevocationId(shardIn(elicitationId), systemEntropy);
    const passkey = passkeyFor(somebody(), { signCount: 1 });
    const named = { shard: shardIn(elicitationId), mcpServerId: 'tracker', digest: secretDigest(), response: 'r' };
    const payloads: unknown[] = [['x', 'EX', '1'], { status: 'completed' }, [], null, undefined, Number.NaN, 1.5, true];
    for (const payload of payloads) {
      const smuggled = payload as never;
      const attempts = [
        stores.elicitations.create({ ...request, operationId: smuggled }),
        stores.elicitations.create({ ...request, coalescingDigest: smuggled }),
        stores.elicitations.create({ ...request, ttlMs: smuggled }),
        stores.elicitations.redeem({ elicitationId, redemption: smuggled }),
        stores.elicitations.postpone(elicitationId, smuggled),
        stores.passkeys.add({ ...passkey, passkeyId: smuggled }, 5),
        stores.passkeys.add({ ...passkey, signCount: smuggled }, 5),
        stores.passkeys.add(passkey, smuggled),
        stores.passkeys.use({ ...passkey, passkeyId: smuggled }),
        stores.passkeys.use({ ...passkey, signCount: smuggled }),
        stores.passkeys.remove(passkey.subject, smuggled),
        stores.oneTime.claim(secretDigest(), smuggled),
        stores.connections.beginRefresh({ current, holder: smuggled, leaseMs: 1 }),
        stores.connections.beginRefresh({ current, holder: 'one', leaseMs: smuggled }),
        stores.connections.postponeRefresh({ current, holder: 'one', delayMs: smuggled }),
        stores.connections.markLost({ current, reason: smuggled }),
        stores.revocations.postpone(revocationId, smuggled),
        stores.revocations.claimOne(revocationId, smuggled),
        stores.idempotency.put({ ...named, fingerprint: smuggled, quota: AMPLE }),
        stores.elicitations.create({ ...request, idempotencyKey: { digest: 'd', fingerprint: smuggled } }),
        stores.events.read(shardIn(elicitationId), { limit: smuggled }),
      ];
      for (const result of await Promise.allSettled(attempts)) {
        expect(result).toMatchObject({ status: 'rejected', reason: { name: 'TypeError' } });
      }
    }
    expect(await stores.elicitations.read(elicitationId)).toBeUndefined();
    expect(await stores.passkeys.list(passkey.subject)).toEqual([]);
    expect(await operator.keys('*x,EX*')).toEqual([]);
  });

  test("users' text stays text, whatever it looks like", async () => {
    const plain = ask(somebody());
    const message = '"]] redis.call("FLUSHALL") --\r\n$1\r\n\u0000{x}';
    const elicitation = await created(stores.elicitations, {
      ...plain,
      elicitation: { ...plain.elicitation, message },
    });
    expect(await stores.elicitations.read(elicitation.elicitationId)).toMatchObject({ message });
  });
});

const person = { issuer: 'https://id.example.com', subject: '8c5b1a7e-3f7e-4a55-9d0c-2f1f6a7f9d11' };

/** A different subject each time, from few shards, so that the indexes of each shard take their large form. */
function anybody(): Subject {
  for (;;) {
    const subject = { ...person, subject: randomUUID() };
    if (shardOf(subject).startsWith('0')) return subject;
  }
}

/** This Redis contains only live elicitations. */
test.each([
  { whose: 'the same person', most: 1.2, subjectOf: () => person },
  { whose: 'a person of its own', most: 1.5, subjectOf: anybody },
] as const)('a live elicitation of $whose costs $most KB at most', async ({ most, subjectOf }) => {
  await using redis = await startRedis({ args: ['--appendonly', 'yes'] });
  await using stores = await createRedisStores({ url: redis.url });
  const operator = new Redis(redis.url);
  const used = async () => Number(/used_memory:(\d+)/.exec(await operator.info('memory'))?.[1]);

  const typical = () => {
    const request = ask(subjectOf(), {
      coalescingDigest: secretDigest(),
      subjectLimit: { max: 1e9, windowMs: HOUR },
      openMax: 1e9,
    });
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
  expect(each).toBeLessThan(most * 1_024);
});
