import {
  EventCarrier,
  newRevocationId,
  SHARDS,
  shardIn,
  shardOf,
  startSweeper,
  systemEntropy,
} from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { kindSamples, samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { createRedisStores } from './index.ts';
import { createKeys } from './keys.ts';

const { ask, cancel, complete, created, engage, MINUTE, moved, oneTimeFor, operation, somebody, TTL_MS } = samples;
const { answer, askFor, credentialIdFor } = kindSamples;
const keys = createKeys('layouts');
const refused = { code: 'unknown_record_layout', layout: 2 };

const redis = await startRedis();
const clock = createFakeClock();
const operator = new Redis(redis.url);
const stores = await createRedisStores({ url: redis.url, prefix: 'layouts', now: clock.now });
afterAll(async () => {
  operator.disconnect();
  await stores.close();
  await redis[Symbol.asyncDispose]();
});

/** Marks the record as written by a later release. */
async function fromTheFuture(key: string): Promise<void> {
  const record = (await operator.hget(key, 'record')) ?? '';
  const next = record.replace('"layout":1', '"layout":2');
  expect(next).not.toBe(record);
  await operator.hset(key, 'record', next);
}

async function backInTime(key: string): Promise<void> {
  const record = (await operator.hget(key, 'record')) ?? '';
  await operator.hset(key, 'record', record.replace('"layout":2', '"layout":1'));
}

/** Each call is refused and leaves the record unchanged. */
async function expectUntouched(key: string, ...calls: (() => Promise<unknown>)[]): Promise<void> {
  const before = await operator.hgetall(key);
  for (const call of calls) await expect(call()).rejects.toMatchObject(refused);
  expect(await operator.hgetall(key)).toEqual(before);
}

describe('a record of layout 2', () => {
  const pending = () => created(stores.elicitations, ask(somebody()));

  async function connected() {
    const elicitation = await pending();
    await moved(stores.elicitations, await moved(stores.elicitations, elicitation, engage), complete(elicitation));
    const connection = await stores.connections.read(samples.connectionIdFor(elicitation.subject));
    if (connection === undefined) throw new Error('Expected a connection.');
    return connection;
  }

  test('an elicitation is neither read, replaced nor changed', async () => {
    const request = ask(somebody());
    const elicitation = await created(stores.elicitations, request);
    const { elicitationId } = elicitation;
    const key = keys.elicitation(elicitationId);
    await fromTheFuture(key);
    await expectUntouched(
      key,
      () => stores.elicitations.read(elicitationId),
      () => stores.elicitations.create(request),
      () => stores.elicitations.listOpen(elicitation.subject, [elicitation.mcpServerId]),
      () =>
        stores.elicitations.transition({
          current: { ...elicitation, version: 7 },
          operationId: operation(),
          ...cancel,
        }),
    );
    await backInTime(key);
    await moved(stores.elicitations, elicitation, cancel);
  });

  test('an elicitation with unknown fields is not read', async () => {
    const { elicitationId } = await pending();
    const key = keys.elicitation(elicitationId);
    await operator.multi().del(key).hset(key, 'status', 'pending', 'everything', '...').exec();
    await expect(stores.elicitations.read(elicitationId)).rejects.toMatchObject({ code: refused.code });
  });

  test('the sweeper skips such elicitations, however many there are, and expires the others', async () => {
    const subject = somebody();
    const shard = shardOf(subject);
    const make = () => created(stores.elicitations, ask(subject, { coalescingDigest: operation() }));
    const [first, second, third, fine] = [await make(), await make(), await make(), await make()];
    const future = [first, second, third].map(({ elicitationId }) => keys.elicitation(elicitationId));
    for (const key of future) await fromTheFuture(key);
    const before = await Promise.all(future.map(key => operator.hgetall(key)));
    clock.advance(TTL_MS);
    const errors: unknown[] = [];
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    await using _ = startSweeper({
      due: (at, limit) => stores.elicitations.due(at, limit),
      handle: async elicitationId => {
        const current = await stores.elicitations.read(elicitationId);
        if (current === undefined) return;
        await moved(stores.elicitations, current, samples.expire);
        if (elicitationId === fine.elicitationId) resolve();
      },
      onError: error => errors.push(error),
      intervalMs: 1,
      shardsPerTick: 1,
      batch: 1,
      shuffle: () => [shard],
    });
    await ended;
    for (const error of errors) expect(error).toMatchObject(refused);
    expect(await Promise.all(future.map(key => operator.hgetall(key)))).toEqual(before);
    expect(await operator.zcard(keys.due(shard))).toBe(3);
  });

  test('the relay carries its events, which have no layout', async () => {
    const elicitation = await pending();
    await fromTheFuture(keys.elicitation(elicitation.elicitationId));
    const carrier = new EventCarrier(stores.outbox, { perShard: 10_000 });
    await carrier.carry(SHARDS);
    await carrier.moveCursors();
    const page = await stores.feeds.read(elicitation.mcpServerId, { after: undefined, limit: 10_000 });
    const announced = page.result === 'events' ? page.events.map(event => event.elicitationId) : [];
    expect(announced).toContain(elicitation.elicitationId);
  });

  test('a connection is neither read, refreshed, removed, re-wrapped nor replaced', async () => {
    const connection = await connected();
    const { connectionId, subject } = connection;
    const key = keys.connection(connectionId);
    const again = await created(stores.elicitations, {
      ...ask(subject),
      seen: { answer: connection },
    });
    const active = await moved(stores.elicitations, again, engage);
    await fromTheFuture(key);
    await expectUntouched(
      key,
      () => stores.connections.read(connectionId),
      () => stores.connections.list(subject),
      () => stores.connections.finishRefresh({ current: connection, ...samples.renewed() }),
      () => stores.connections.remove({ connectionId }),
      () => stores.elicitations.create(ask(subject)),
      () => stores.elicitations.transition({ current: active, operationId: operation(), ...complete(active) }),
    );
    expect((await stores.elicitations.read(active.elicitationId))?.status).toBe('active');
    const steps = [];
    for await (const step of stores.sealedRecords.walk()) steps.push(step);
    expect(steps.flatMap(({ unreadable }) => unreadable)).toContainEqual({ kind: 'connection', id: connectionId });
    expect(steps.flatMap(({ records }) => records).map(({ id }) => id)).not.toContain(connectionId);

    await backInTime(key);
    await moved(stores.elicitations, active, complete(active));
    expect(await stores.connections.read(connectionId)).toMatchObject({ generation: 2 });
  });

  test('a credential is neither read, removed nor replaced', async () => {
    const elicitation = await created(stores.elicitations, askFor('lasting', somebody()));
    await moved(stores.elicitations, elicitation, answer(elicitation));
    const credentialId = credentialIdFor(elicitation.subject);
    const credential = await stores.credentials.read(credentialId);
    if (credential === undefined) throw new Error('Expected a credential.');
    const again = await created(stores.elicitations, {
      ...askFor('lasting', elicitation.subject),
      seen: { answer: credential },
    });
    const key = keys.credential(credentialId);
    await fromTheFuture(key);
    await expectUntouched(
      key,
      () => stores.credentials.read(credentialId),
      () => stores.credentials.remove(credentialId),
      () => stores.elicitations.transition({ current: again, operationId: operation(), ...answer(again) }),
    );
    await backInTime(key);
    await moved(stores.elicitations, again, answer(again));
  });

  test('a result is not consumed, and is kept for a release that can read it', async () => {
    const elicitation = await created(stores.elicitations, askFor('form', somebody()));
    await moved(stores.elicitations, elicitation, answer(elicitation));
    const { elicitationId } = elicitation;
    const key = keys.result(elicitationId);
    await fromTheFuture(key);
    const redeem = () => stores.elicitations.redeem({ elicitationId, redemption: operation() });
    await expectUntouched(key, redeem);
    await backInTime(key);
    expect(await redeem()).toMatchObject({ result: 'redeemed', sealed: 'sealed-result', isFirst: true });
  });

  test('a one-time record is neither read nor consumed, and is kept for a release that can read it', async () => {
    const elicitation = await pending();
    const record = oneTimeFor(elicitation.elicitationId);
    await moved(stores.elicitations, elicitation, { ...engage, putOneTime: { record, ttlMs: MINUTE } });
    const shard = shardIn(elicitation.elicitationId);
    const key = keys.oneTime(shard, record.digest);
    await fromTheFuture(key);
    const consume = () => stores.oneTime.consume(shard, record.digest);
    await expectUntouched(key, () => stores.oneTime.read(shard, record.digest), consume);
    await backInTime(key);
    expect(await consume()).toEqual({ result: 'taken', record });
  });

  test('a revocation is not claimed, and does not hold up others', async () => {
    const subject = somebody();
    const shard = shardOf(subject);
    const of = samples.connectionFor(subject, ask(subject).elicitation.elicitationId);
    const [future, fine] = [newRevocationId(shard, systemEntropy), newRevocationId(shard, systemEntropy)];
    await stores.revocations.add({ ...of, revocationId: future });
    clock.advance(1);
    await stores.revocations.add({ ...of, revocationId: fine });
    const key = keys.revocation(future);
    await fromTheFuture(key);
    await expectUntouched(key, () => stores.revocations.claimOne(future, 0));
    const claim = () => stores.revocations.claim(shard, { limit: 1, leaseMs: MINUTE });
    const before = await operator.hgetall(key);
    await operator.zadd(keys.dueRevocations(shard), '1', future);
    await expect(claim()).rejects.toMatchObject(refused);
    expect((await claim()).map(({ revocationId }) => revocationId)).toEqual([fine]);
    expect(await operator.hgetall(key)).toEqual(before);
    await backInTime(key);
    expect(await stores.revocations.claimOne(future, MINUTE)).toMatchObject({ revocationId: future, attempts: 1 });
  });

  test('passkeys, browser sessions and registrations are rejected', async () => {
    const subject = somebody();
    const passkey = { subject, passkeyId: operation(), publicKey: 'pQEC', signCount: 1, backedUp: false };
    await stores.passkeys.add({ ...passkey, transports: [], label: 'Key' }, 5);
    const passkeys = keys.passkeysOf(shardOf(subject), subject);
    const stored = (await operator.hget(passkeys, passkey.passkeyId)) ?? '';
    await operator.hset(passkeys, passkey.passkeyId, stored.replace('"layout":1', '"layout":2'));
    await expectUntouched(passkeys, () => stores.passkeys.list(subject));

    const id = samples.browserSessionIdOf(subject);
    const browserSession = { id, subject, origin: { identityProvider: 'example' }, displayName: 'Alice' };
    await stores.browserSessions.create(browserSession, { idleMs: MINUTE, absoluteMs: MINUTE });
    await fromTheFuture(keys.browserSession(id));
    await expectUntouched(keys.browserSession(id), () => stores.browserSessions.read(id));

    await stores.clientRegistrations.putIfAbsent('layouts', 'sealed');
    const registration = keys.clientRegistration('layouts');
    await fromTheFuture(registration);
    await expectUntouched(
      registration,
      () => stores.clientRegistrations.read('layouts'),
      () => stores.clientRegistrations.putIfAbsent('layouts', 'other'),
    );
    await stores.clientRegistrations.remove('layouts', 'sealed');
    expect(await operator.exists(registration)).toBe(1);
  });
});
