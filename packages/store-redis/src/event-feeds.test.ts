import { EventCarrier, type Shard, type Subject, shardOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisStores } from './index.ts';

const { ask, cancel, created, from, moved, operation, somebody } = samples;
const DAY_MS = 24 * 3_600_000;
const OUTBOX = 200;

const taken = new Set<Shard>();
/** A subject in an unused shard, so that events of other tests are not there. */
function stranger(): Subject {
  for (;;) {
    const subject = somebody();
    if (taken.has(shardOf(subject))) continue;
    taken.add(shardOf(subject));
    return subject;
  }
}

const redis = await startRedis();
afterAll(() => redis[Symbol.asyncDispose]());

describe('feeds in Redis', () => {
  let stores: RedisStores;
  let raw: Redis;
  beforeAll(async () => {
    stores = await createRedisStores({ url: redis.url, prefix: 'feeds', eventsPerShard: OUTBOX });
    raw = new Redis(redis.url);
  });
  afterAll(async () => {
    raw.disconnect();
    await stores.close();
  });

  const someServer = () => `s-${operation()}`;
  const limit = 10_000;

  async function announce(mcpServerId: string, subject = stranger(), times = 1): Promise<Shard> {
    for (let n = 0; n < times; n += 1) {
      const request = from(mcpServerId, ask(subject, { coalescingDigest: operation() }));
      await moved(stores.elicitations, await created(stores.elicitations, request), cancel);
    }
    return shardOf(subject);
  }

  async function keyOf(noun: 'feed' | 'fed', mcpServerId: string): Promise<string> {
    const [key = ''] = await raw.keys(`feeds:{*}:${noun}:${mcpServerId}`);
    return key;
  }

  test('the time of an event is the time of its commit', async () => {
    const mcpServerId = someServer();
    const began = Date.now();
    const shard = await announce(mcpServerId);
    const ended = Date.now();
    await new EventCarrier(stores.outbox).carry([shard]);
    const page = await stores.feeds.read(mcpServerId, { after: undefined, limit });
    const times = page.result === 'events' ? page.events.map(({ occurredAt }) => occurredAt) : [];
    expect(times).toHaveLength(2);
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(began);
      expect(time).toBeLessThanOrEqual(ended);
    }
  });

  test('a commit writes nothing but its own entry for the feed', async () => {
    const mcpServerId = someServer();
    await raw.config('RESETSTAT');
    const shard = await announce(mcpServerId);
    const stats = await raw.info('commandstats');
    expect(stats).toMatch(/cmdstat_xadd:calls=2,/);
    expect(stats).not.toMatch(/cmdstat_(xrange|xtrim|xlen):/);
    expect((await stores.outbox.read(shard, { after: undefined, limit })).entries).toHaveLength(2);
  });

  test('notices entries that the outbox dropped before they were carried, and carries the rest', async () => {
    const [mcpServerId, subject] = [someServer(), stranger()];
    const shard = await announce(mcpServerId, subject);
    const carrier = new EventCarrier(stores.outbox, { perShard: limit });
    expect(await carrier.carry([shard])).toMatchObject({ gaps: [] });
    await carrier.moveCursors();
    await announce(mcpServerId, subject, OUTBOX);
    expect(await new EventCarrier(stores.outbox, { perShard: limit }).carry([shard])).toMatchObject({ gaps: [shard] });
    const late = await carrier.carry([shard]);
    expect(late).toMatchObject({ gaps: [shard], carried: 0 });
    expect(await carrier.carry([shard])).toMatchObject({ gaps: [], found: 0 });
  });

  test('drops carried entries from the outbox except the newest, and no others', async () => {
    const [mcpServerId, subject] = [someServer(), stranger()];
    const shard = await announce(mcpServerId, subject, 20);
    const [slow, quick] = [1, 2].map(() => new EventCarrier(stores.outbox, { perShard: 25 }));
    expect(await slow?.carry([shard])).toMatchObject({ carried: 25, gaps: [] });
    await announce(mcpServerId, subject, 75);
    const carryAll = async (by: EventCarrier | undefined) => {
      for (;;) {
        const report = await by?.carry([shard]);
        expect(report?.gaps).toEqual([]);
        if (report?.more.length === 0) return;
      }
    };
    await carryAll(quick);
    const length = () => raw.xlen(`feeds:{${shard}}:events`);
    expect(await length()).toBeGreaterThanOrEqual(190);
    await quick?.moveCursors();
    expect(await length()).toBeGreaterThanOrEqual(64);
    expect(await length()).toBeLessThan(190);

    // These entries are not carried yet, so they stay however often the cursor is set, even by a lagging relay.
    await announce(mcpServerId, subject, 60);
    const kept = await length();
    const cursor = await stores.outbox.cursor(shard);
    await stores.outbox.moveCursor(shard, cursor ?? '');
    await stores.outbox.moveCursor(shard, '1-0');
    expect([await length(), await stores.outbox.cursor(shard)]).toEqual([kept, cursor]);

    // A relay that remembers a dropped position was overtaken; nothing was lost.
    await carryAll(slow);
    await carryAll(new EventCarrier(stores.outbox));
    const page = await stores.feeds.read(mcpServerId, { after: undefined, limit });
    expect(page.result === 'events' ? page.events : []).toHaveLength(310);
  });

  test('a feed expires, and its state lasts long enough to report that', async () => {
    const mcpServerId = someServer();
    const shard = await announce(mcpServerId);
    const carrier = new EventCarrier(stores.outbox);
    await carrier.carry([shard]);
    const page = await stores.feeds.read(mcpServerId, { after: undefined, limit });
    const [first, last] = page.result === 'events' ? page.events : [];
    const [feed, facts] = [await keyOf('feed', mcpServerId), await keyOf('fed', mcpServerId)];
    expect(await raw.pttl(feed)).toBeGreaterThan(6 * DAY_MS);
    expect(await raw.pttl(feed)).toBeLessThanOrEqual(7 * DAY_MS);
    expect(await raw.pttl(facts)).toBeGreaterThan(27 * DAY_MS);

    await raw.del(feed);
    expect(await stores.feeds.read(mcpServerId, { after: undefined, limit })).toEqual({ result: 'events', events: [] });
    expect(await stores.feeds.read(mcpServerId, { after: first?.position, limit })).toEqual({ result: 'gone' });
    expect(await stores.feeds.read(mcpServerId, { after: last?.position, limit })).toMatchObject({ events: [] });

    // The events of the expired feed are not carried again, and new events get later positions.
    expect(await new EventCarrier(stores.outbox).carry([shard])).toMatchObject({ carried: 0 });
    await carrier.carry([await announce(mcpServerId)]);
    expect(await stores.feeds.read(mcpServerId, { after: last?.position, limit })).toMatchObject({
      events: [{ type: 'elicitation.pending' }, { type: 'elicitation.cancelled' }],
    });
  });

  test('an MCP server whose id would make key names ambiguous has no feed', async () => {
    for (const id of ['', 'a:b', '{00}', 'a b', 'a'.repeat(65)])
      await expect(stores.feeds.newest(id)).rejects.toThrow(TypeError);
  });
});
