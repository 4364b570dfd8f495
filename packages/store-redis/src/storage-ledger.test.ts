import {
  type Connection,
  type CreateElicitation,
  connectionIdOf,
  credentialIdOf,
  type NewConnection,
  newRevocationId,
  type Shard,
  type Subject,
  shardIn,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { connect, kindSamples, samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';
import { createKeys } from './keys.ts';

const { AMPLE, ask, cancel, created, engage, from, MINUTE, moved, oneTimeFor, operation, secretDigest, somebody } =
  samples;
const { answer, approve, askFor, credentialFor } = kindSamples;
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
  /** Lasting records of an owner in a shard, and their bytes. */
  const lastingOf = async (shard: Shard, owner = 'tracker') =>
    (await operator.hget(keys.ledger(shard, owner), '240000000')) ?? '';
  const connected = (subject: Subject, change: Partial<NewConnection> = {}, of: RedisStores = stores) => {
    const owner = change.owner ?? 'tracker';
    const connectionId = connectionIdOf({ owner, subject, provider: 'github', resource: change.resource });
    return connect(of, subject, { ...change, owner, connectionId });
  };
  const passkeyOf = (subject: Subject, label = 'Key') => ({
    passkeyId: operation(),
    subject,
    publicKey: 'p'.repeat(360),
    signCount: 0,
    transports: ['internal', 'hybrid'],
    backedUp: false,
    label,
  });
  const tracker = { mcpServerId: 'tracker', quota: AMPLE };
  const enrol = (of: RedisStores, passkey: ReturnType<typeof passkeyOf>) =>
    of.passkeys.add(passkey, 10, undefined, 'later', undefined, tracker);
  const inShard = (shard: Shard): Subject => {
    for (;;) {
      const person = somebody();
      if (shardOf(person) === shard) return person;
    }
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
      const resource = `https://api.example/${length}`;
      const connection = await connected(person, { resource, sealedTokens: 's'.repeat(length) }, fresh);
      const use = { mcpServerId: 'tracker', tool: 't'.repeat(64) };
      await fresh.connections.recordUse({ ...connection, use });
      await fresh.connections.beginRefresh({ current: connection, holder: operation(), leaseMs: MINUTE });
      const grown = { scopes: ['repo'], refreshable: true, sealedTokens: 's'.repeat(2 * length) };
      await fresh.connections.finishRefresh({ current: connection, tokens: grown, operationId: operation() });
      await fresh.connections.markLost({ current: { ...connection, generation: 2 }, reason: 'refused' });
      const left = await connected(person, { resource: `${resource}/left`, sealedTokens: 's'.repeat(length) }, fresh);
      await fresh.connections.remove({ ...left, revocationId: newRevocationId(shard, systemEntropy) });
      await fresh.revocations.add({ ...left, revocationId: newRevocationId(shard, systemEntropy) });
      const name = `n-${length}`;
      const credentialId = credentialIdOf({ owner: 'tracker', subject: person, name });
      const { answeredBy: _, ...lasting } = askFor('lasting', person);
      const typed = await created(fresh.elicitations, later(lasting));
      const putCredential = credentialFor(typed, {
        owner: 'tracker',
        name,
        credentialId,
        sealedValues: 's'.repeat(length),
      });
      const outcome = { kind: 'credential', name: 'acme-api', credentialId } as const;
      await moved(fresh.elicitations, typed, {
        ...answer(typed),
        next: { status: 'completed', outcome },
        putCredential,
      });
      await fresh.credentials.recordUse({ credentialId, use });
      await enrol(fresh, passkeyOf(person, 'l'.repeat(60)));
      await enrol(fresh, passkeyOf(inShard(shard), 'l'.repeat(60)));
    }
    const usedBy = async (nouns: RegExp) => {
      const names = (await operator.keys('*')).filter(name => nouns.test(name.split(':')[2] ?? ''));
      const used = names.map(async name => Number(await operator.memory('USAGE', name, 'SAMPLES', 0)) + 46);
      return (await Promise.all(used)).reduce((sum, each) => sum + each, 0);
    };
    // `connect` asks for another MCP server.
    const ledgers = [await totalOf(shard, 'tracker'), await totalOf(shard, 'issue-tracker')];
    expect(ledgers.reduce((sum, { bytes = 0 }) => sum + bytes, 0)).toBeGreaterThan(
      await usedBy(/^(?!epoch|cursor|events|feed|fed|quota|fence)/),
    );
    const [, lasting] = (await lastingOf(shard)).split(' ').map(Number);
    expect(lasting).toBeGreaterThan(await usedBy(/^(cn|cns|cr|crs|connected|saved|pks|pkf)$/));
    expect(ledgers.map(({ records }) => records)).toEqual([7 * (8 + 6) + 1, 7 * 2]);
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

  test('counts a record without a charge from its next transition on, and never reverses a charge that was not made', async () => {
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

  test('S203: a lasting record counts in the ledger of its owner, which stays with it, and the last removal leaves nothing', async () => {
    const person = somebody();
    const shard = shardOf(person);
    for (const owner of ['tracker', 'group:team']) {
      await operator.del(keys.ledger(shard, owner));
      const first = await connected(person, { owner });
      const other = await connected(inShard(shard), { owner });
      const both = await lastingOf(shard, owner);
      expect(both).toMatch(/^2 \d{4}$/);
      expect(await operator.pttl(keys.ledger(shard, owner))).toBeGreaterThan(365 * DAY);
      expect((await connected(person, { owner })).generation).toBe(2);
      expect(await lastingOf(shard, owner)).toBe(both);
      await stores.connections.remove(first);
      await stores.connections.remove(other);
      expect(await lastingOf(shard, owner)).toBe('0 0');
      expect(await totalOf(shard, owner)).toEqual({ records: 0, bytes: 0 });
    }
  });

  test('S203: a refresh is stored however full the quota is, and larger tokens count', async () => {
    const person = somebody();
    const shard = shardOf(person);
    await operator.del(keys.ledger(shard, 'tracker'));
    const refreshed = async (current: Connection, sealedTokens: string) => {
      const tokens = { scopes: ['repo'], refreshable: true, sealedTokens };
      const change = await stores.connections.finishRefresh({ current, tokens, operationId: operation() });
      if (change.result !== 'stored') throw new Error('Expected new tokens.');
      return change.connection;
    };
    const connection = await connected(person);
    const before = await lastingOf(shard);
    await operator.hset(keys.ledger(shard, 'tracker'), 'share', '0 0');
    const same = await refreshed(connection, 's'.repeat(connection.sealedTokens.length));
    // Its record also tells that the refresh token was not replaced.
    const [, bytes = 0] = (await lastingOf(shard)).split(' ').map(Number);
    expect(bytes - Number(before.split(' ')[1])).toBeLessThan(100);
    const larger = await refreshed(same, 's'.repeat(8_192));
    const [records, grown = 0] = (await lastingOf(shard)).split(' ').map(Number);
    expect([records, grown > bytes + 8_192 && grown < bytes + 8_192 * 1.5]).toEqual([1, true]);
    await refreshed(larger, 's');
    await stores.connections.remove(connection);
    expect(await lastingOf(shard)).toBe('0 0');
  });

  test('S203: records without a charge stay so, are replaced at a full quota, and return nothing', async () => {
    const old = somebody();
    const shard = shardOf(old);
    await operator.del(keys.ledger(shard, 'tracker'));
    const former = await connected(old);
    const passkeys = [passkeyOf(old), passkeyOf(old)];
    for (const passkey of passkeys) await enrol(stores, passkey);
    await operator.del(keys.ledger(shard, 'tracker'));
    await operator.hdel(keys.connection(former.connectionId), 'q');
    await operator.hdel(keys.passkeyFactsOf(shard, old), 'q', 'payer');
    const paid = await connected(inShard(shard));
    const one = await lastingOf(shard);
    await operator.hset(keys.ledger(shard, 'tracker'), 'share', '1 1');
    expect((await connected(old)).generation).toBe(2);
    expect(await stores.passkeys.remove(old, passkeys[0]?.passkeyId ?? '')).toBe(true);
    expect(await stores.passkeys.reset(old)).toBe(1);
    await stores.connections.remove({ ...former, revocationId: newRevocationId(shard, systemEntropy) });
    expect(await lastingOf(shard)).toBe(one);
    await stores.connections.remove(paid);
    expect(await totalOf(shard, 'tracker')).toEqual({ records: 0, bytes: 0 });
  });

  test('S203: passkeys count for the MCP server that says who the user is, and facts about them as long as they stay', async () => {
    const person = somebody();
    const shard = shardOf(person);
    await operator.del(keys.ledger(shard, 'tracker'));
    // An identity provider says who this user is.
    await stores.passkeys.add(passkeyOf(inShard(shard)), 10);
    expect(await lastingOf(shard)).toBe('');
    const [first, second] = [passkeyOf(person), passkeyOf(person)];
    await enrol(stores, first);
    const one = await lastingOf(shard);
    expect(await stores.passkeys.add(second, 10, first.passkeyId)).toBe('added');
    const [records, bytes = 0] = (await lastingOf(shard)).split(' ').map(Number);
    expect([records, bytes > Number(one.split(' ')[1]) + 500]).toEqual([1, true]);
    expect(await stores.passkeys.remove(person, second.passkeyId)).toBe(true);
    expect(await lastingOf(shard)).toBe(one);
    expect(await stores.passkeys.reset(person)).toBe(1);
    expect(await lastingOf(shard)).toBe('1 1024');
    await enrol(stores, first);
    expect(await lastingOf(shard)).toBe(one);
    await operator.hset(keys.ledger(shard, 'tracker'), 'share', '1 100');
    await expect(stores.passkeys.add(second, 10, first.passkeyId)).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(await stores.passkeys.list(person)).toHaveLength(1);
  });
});
