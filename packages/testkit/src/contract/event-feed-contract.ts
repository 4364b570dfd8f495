import {
  type Elicitation,
  EventCarrier,
  type EventOutbox,
  eventOf,
  FEED_START,
  type FeedEvent,
  newElicitationId,
  type OutboxEntry,
  type Shard,
  type Subject,
  shardIn,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, FEED_RETENTION, suite } from './contract-stores.ts';
import {
  ask,
  cancel,
  created,
  decline,
  engage,
  from,
  type Move,
  moved,
  operation,
  retry,
  somebody,
} from './samples.ts';

const FOREVER = 10 * 60_000;
const { events: KEPT, maxAgeMs: MAX_AGE_MS } = FEED_RETENTION;

/** EventFeed and EventOutbox: each commit once, in order, for its MCP server. */
export const describeEventFeed = suite('event feed', stores => {
  /** The id of an MCP server that no other test uses. */
  const someServer = () => `s-${operation()}`;
  const carrier = (outbox: EventOutbox = stores.outbox) => new EventCarrier(outbox, { perShard: 3, perCarry: 2 });

  async function announced(mcpServerId: string, subject: Subject, ...moves: Move[]): Promise<Elicitation> {
    const request = from(mcpServerId, ask(subject, { coalescingDigest: operation() }));
    return moved(stores.elicitations, await created(stores.elicitations, request), ...moves);
  }

  /** Carries until nothing is left to carry. */
  async function carryAll(shard: Shard, by = carrier()): Promise<number> {
    let carried = 0;
    while (true) {
      const report = await by.carry([shard]);
      carried += report.carried;
      if (report.more.length === 0) return carried;
    }
  }

  async function read(mcpServerId: string, after?: string, limit = 1_000): Promise<readonly FeedEvent[]> {
    const page = await stores.feeds.read(mcpServerId, { after, limit });
    if (page.result === 'gone') throw new Error('It is gone.');
    return page.events;
  }

  const idsOf = (events: readonly Pick<FeedEvent, 'eventId'>[]) => events.map(({ eventId }) => eventId);
  const versions = ({ elicitationId }: Elicitation, count: number) =>
    Array.from({ length: count }, (_, at) => `ev_${elicitationId.slice(3)}.${at + 1}`);

  /** Entries in the form of one shard's outbox. */
  function outboxEntries(mcpServerId: string, count: number, firstAt = 1): readonly OutboxEntry[] {
    const elicitationId = newElicitationId('7f' as Shard, systemEntropy);
    return Array.from({ length: count }, (_, at) => ({
      position: `${firstAt + at}-0`,
      occurredAt: firstAt + at,
      event: eventOf({
        elicitationId,
        version: firstAt + at,
        status: 'pending',
        mcpServerId,
        request: { kind: 'authorization', provider: 'github', scopes: [] },
      }),
    }));
  }

  test('the log of a shard has each event with what was asked and the time it took, also after it was carried', async () => {
    const subject = somebody();
    const [shard, owner] = [shardOf(subject), someServer()];
    const asked = await created(stores.elicitations, from(owner, ask(subject)));
    stores.clock.advance(7_000);
    await moved(stores.elicitations, asked, cancel);
    const own = async () =>
      (await stores.events.read(shard, { limit: 10_000 })).filter(
        ({ event }) => event.elicitationId === asked.elicitationId,
      );
    const events = await own();
    expect(events).toMatchObject([{ provider: 'github' }, { provider: 'github', tookMs: 7_000 }]);
    expect(events[0]).not.toHaveProperty('tookMs');
    await carryAll(shard);
    expect(await own()).toEqual(events);
    const [first, second] = events;
    expect(await stores.events.read(shard, { after: first?.position ?? '', limit: 1 })).toEqual([second]);
  });

  test('contains every version of an elicitation once, in order', async () => {
    const mcpServerId = someServer();
    const subject = somebody();
    const elicitation = await announced(mcpServerId, subject, engage, retry, engage, decline);
    expect(await carryAll(shardOf(subject))).toBeGreaterThanOrEqual(5);
    const events = await read(mcpServerId);
    expect(idsOf(events)).toEqual(versions(elicitation, 5));
    expect(events.map(({ type }) => type)).toEqual(
      ['pending', 'active', 'pending', 'active', 'declined'].map(status => `elicitation.${status}`),
    );
    const [first] = events;
    expect(first).toMatchObject({ elicitationId: elicitation.elicitationId, mcpServerId, kind: 'authorization' });
    expect(first?.occurredAt).toBeGreaterThan(Date.UTC(2026, 0, 1) - 1);
    expect(Object.keys(first ?? {}).sort()).toEqual(
      ['eventId', 'type', 'elicitationId', 'mcpServerId', 'kind', 'position', 'occurredAt'].sort(),
    );
  });

  test('contains only events of its MCP server', async () => {
    const [one, other] = [someServer(), someServer()];
    const subject = somebody();
    const mine = await announced(one, subject, cancel);
    const theirs = await announced(other, subject);
    await carryAll(shardOf(subject));
    expect(idsOf(await read(one))).toEqual(versions(mine, 2));
    expect(idsOf(await read(other))).toEqual(versions(theirs, 1));
    expect(await read(someServer())).toEqual([]);
  });

  test('adds an event once, even if concurrent relays carry it repeatedly', async () => {
    const mcpServerId = someServer();
    const subject = somebody();
    const elicitation = await announced(mcpServerId, subject, engage, retry, engage, cancel);
    await crowd(() => carryAll(shardOf(subject)));
    const again = await announced(mcpServerId, subject, engage, cancel);
    await crowd(() => carryAll(shardOf(subject)));
    expect(idsOf(await read(mcpServerId))).toEqual([...versions(elicitation, 5), ...versions(again, 3)]);
  });

  test.each(['before the feed', 'before the cursor', 'half way into the feed'])(
    'a relay that is killed %s neither loses nor repeats an event',
    async when => {
      const mcpServerId = someServer();
      const subject = somebody();
      const shard = shardOf(subject);
      const elicitation = await announced(mcpServerId, subject, engage, retry, engage, cancel);
      const killed = () => Promise.reject(new Error('killed'));
      let carries = 0;
      const dying = carrier({
        cursor: of => stores.outbox.cursor(of),
        read: (of, p) => stores.outbox.read(of, p),
        onCommit: listener => stores.outbox.onCommit(listener),
        moveCursor: killed,
        carry: async (to, entries) => {
          carries += 1;
          if (when === 'before the feed' || (when === 'half way into the feed' && carries > 1)) return killed();
          return stores.outbox.carry(to, entries);
        },
      });
      await expect(carryAll(shard, dying).then(() => dying.moveCursors())).rejects.toThrow('killed');
      await carryAll(shard);
      expect(idsOf(await read(mcpServerId))).toEqual(versions(elicitation, 5));
    },
  );

  test('the next relay starts at the cursor, which never moves back', async () => {
    const mcpServerId = someServer();
    const subject = somebody();
    const shard = shardOf(subject);
    await announced(mcpServerId, subject, cancel);
    const slow = carrier();
    await carryAll(shard, slow);
    await announced(mcpServerId, subject, cancel);
    const quick = carrier();
    await carryAll(shard, quick);
    await quick.moveCursors();
    const cursor = await stores.outbox.cursor(shard);
    await slow.moveCursors();
    expect(await stores.outbox.cursor(shard)).toBe(cursor);
    expect(await carrier().carry([shard])).toEqual({ found: 0, carried: 0, gaps: [], more: [] });
  });

  test('reads from any position, up to the requested number of events', async () => {
    const mcpServerId = someServer();
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 7));
    const all = await read(mcpServerId);
    expect(all).toHaveLength(7);
    expect(await read(mcpServerId, FEED_START)).toEqual(all);
    const pages = [];
    let after: string | undefined;
    for (let page = await read(mcpServerId, after, 3); page.length > 0; page = await read(mcpServerId, after, 3)) {
      pages.push(page);
      after = page.at(-1)?.position;
    }
    expect(pages.map(page => page.length)).toEqual([3, 3, 1]);
    expect(pages.flat()).toEqual(all);
  });

  test('reading from the newest position returns only later events', async () => {
    const mcpServerId = someServer();
    expect(await stores.feeds.newest(mcpServerId)).toBe(FEED_START);
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 3));
    const newest = await stores.feeds.newest(mcpServerId);
    expect((await read(mcpServerId)).at(-1)?.position).toBe(newest);
    expect(await read(mcpServerId, newest)).toEqual([]);
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 1, 4));
    expect(await read(mcpServerId, newest)).toHaveLength(1);
  });

  test('keeps about the configured number of events, and reports a gap', async () => {
    const mcpServerId = someServer();
    const entries = outboxEntries(mcpServerId, KEPT + 10);
    await stores.outbox.carry(mcpServerId, entries.slice(0, 1));
    const [first] = await read(mcpServerId);
    for (let at = 1; at < entries.length; at += 5) await stores.outbox.carry(mcpServerId, entries.slice(at, at + 5));
    const kept = await read(mcpServerId);
    expect(kept).toHaveLength(KEPT);
    expect(kept.map(({ occurredAt }) => occurredAt)).toEqual(Array.from({ length: KEPT }, (_, at) => at + 11));
    const limit = 1_000;
    for (const after of [FEED_START, first?.position ?? ''])
      expect(await stores.feeds.read(mcpServerId, { after, limit })).toEqual({ result: 'gone' });
    expect(await read(mcpServerId, kept[0]?.position)).toHaveLength(KEPT - 1);
  });

  test('a reader that has read all trimmed events continues without a gap', async () => {
    const mcpServerId = someServer();
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 10));
    const newest = await stores.feeds.newest(mcpServerId);
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, KEPT, 11));
    expect(await read(mcpServerId, newest)).toHaveLength(KEPT);
  });

  test('drops events beyond the maximum age', async () => {
    const mcpServerId = someServer();
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 2));
    const [first, second] = await read(mcpServerId);
    stores.clock.advance(MAX_AGE_MS - 1);
    expect(await read(mcpServerId)).toHaveLength(2);
    stores.clock.advance(2);
    expect(await read(mcpServerId)).toEqual([]);
    expect(await read(mcpServerId, second?.position)).toEqual([]);
    const limit = 1_000;
    expect(await stores.feeds.read(mcpServerId, { after: first?.position, limit })).toEqual({ result: 'gone' });
    // The result is the same after the old events are actually removed.
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 1, 3));
    expect(await read(mcpServerId)).toHaveLength(1);
    expect(await read(mcpServerId, second?.position)).toHaveLength(1);
    expect(await stores.feeds.read(mcpServerId, { after: first?.position, limit })).toEqual({ result: 'gone' });
  });

  test('reports a gap for a position that it never reached', async () => {
    const mcpServerId = someServer();
    const limit = 1_000;
    expect(await stores.feeds.read(mcpServerId, { after: '1-0', limit })).toEqual({ result: 'gone' });
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 1));
    const after = '999999999999999-0';
    expect(await stores.feeds.read(mcpServerId, { after, limit })).toEqual({ result: 'gone' });
  });

  test('keeps the order after the clock was set back', async () => {
    const mcpServerId = someServer();
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 1));
    stores.clock.advance(-60_000);
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 2, 2));
    stores.clock.advance(60_000);
    expect((await read(mcpServerId)).map(({ occurredAt }) => occurredAt)).toEqual([1, 2, 3]);
  });

  test('wakes only the watchers of the feed to which an event was added', async () => {
    const [mcpServerId, last] = [someServer(), someServer()];
    using watch = stores.feeds.watch(mcpServerId);
    const waiting = watch.next(FOREVER);
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 1));
    await waiting;

    const over = new AbortController();
    const woken: string[] = [];
    using other = stores.feeds.watch(someServer());
    const idle = [watch, other].map(each =>
      each.next(FOREVER, over.signal).then(() => over.signal.aborted || woken.push('in vain')),
    );
    using marker = stores.feeds.watch(last);
    // A repeat adds nothing, so it wakes no watcher.
    await stores.outbox.carry(mcpServerId, outboxEntries(mcpServerId, 1));
    await stores.outbox.carry(last, outboxEntries(last, 1));
    await marker.next(FOREVER);
    over.abort();
    await Promise.all(idle);
    expect(woken).toEqual([]);
  });

  test('reports each commit with its shard to its listeners', async () => {
    const reported = new Set<Shard | undefined>();
    const { promise, resolve } = Promise.withResolvers<void>();
    const subject = somebody();
    using _listening = stores.outbox.onCommit(shard => {
      reported.add(shard);
      if (shard === shardOf(subject)) resolve();
    });
    const { elicitationId } = await announced(someServer(), subject);
    await promise;
    expect(reported).toContain(shardIn(elicitationId));
  });
});
