import { setImmediate as turn } from 'node:timers/promises';
import { EventCarrier, type EventFeed, type FeedEvent, SHARDS, StoreUnavailableError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { createMemoryStores } from '@postern/testkit/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EventStream } from './event-stream.ts';
import { createEventStreams, type EventStreams, type OpenEventStream } from './event-streams.ts';

const { ask, created, from, operation, somebody } = samples;
const MCP_SERVER = 'tracker';

let opened: EventStreams[] = [];
afterEach(async () => {
  await Promise.all(opened.map(streams => streams.close()));
  opened = [];
  vi.useRealTimers();
});

function setUp(change: (feeds: EventFeed) => Partial<EventFeed> = () => ({})) {
  const stores = createMemoryStores({ now: Date.now, feed: { events: 1_000 } });
  const onError = vi.fn();
  const { feeds } = stores;
  const all: EventFeed = {
    read: (id, p) => feeds.read(id, p),
    newest: id => feeds.newest(id),
    watch: id => feeds.watch(id),
    ...change(feeds),
  };
  const streams = createEventStreams({ feeds: all, onError, max: 1_000, onFull: () => new Error('full') });
  opened.push(streams);
  const carrier = new EventCarrier(stores.outbox, { perShard: 10_000 });
  return {
    ...{ streams, stores, onError },
    /** So many events, in one go. */
    async announce(count: number): Promise<void> {
      for (let n = 0; n < count; n += 1)
        await created(stores.elicitations, from(MCP_SERVER, ask(somebody(), { coalescingDigest: operation() })));
      await carrier.carry(SHARDS);
    },
    async positions(): Promise<readonly string[]> {
      const page = await feeds.read(MCP_SERVER, { after: undefined, limit: 10_000 });
      return page.result === 'events' ? page.events.map(({ position }) => position) : [];
    },
    open: (change: Partial<OpenEventStream> = {}) =>
      streams.open({
        ...{ mcpServerId: MCP_SERVER, max: 10, after: undefined },
        filter: { kinds: undefined, types: undefined },
        ...change,
      }),
  };
}

/** Reads as a client does. */
function readAll({ body }: EventStream) {
  const client = { text: '', isOver: false };
  body.setEncoding('utf8');
  body.on('data', (chunk: string) => {
    client.text += chunk;
  });
  body.on('close', () => {
    client.isOver = true;
  });
  return {
    client,
    ids: () => [...client.text.matchAll(/^event: .*\nid: (.*)$/gm)].map(([, id]) => id),
  };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

describe('streams of events', () => {
  it('one reader serves them all', async () => {
    const read = vi.fn();
    const { open, announce, positions } = setUp(feeds => ({
      async read(id, p) {
        read();
        return feeds.read(id, p);
      },
    }));
    const clients: ReturnType<typeof readAll>[] = [];
    for (let n = 0; n < 10; n += 1) clients.push(readAll(await open()));
    await announce(0);
    const before = read.mock.calls.length;
    await announce(30);
    await until(() => clients.every(({ ids }) => ids().length === 30));
    const expected = await positions();
    for (const { ids } of clients) expect(ids()).toEqual(expected);
    expect(read.mock.calls.length - before).toBeLessThan(10);
  });

  it('catching up and joining leave nothing out and nothing twice, whatever comes meanwhile', async () => {
    const { open, announce, positions } = setUp();
    await announce(250);
    const [first] = await positions();
    const clients: ReturnType<typeof readAll>[] = [];
    for (let n = 0; n < 8; n += 1) {
      clients.push(readAll(await open({ after: first ?? '' })));
      await announce(20);
    }
    const expected = (await positions()).slice(1);
    await until(() => clients.every(({ ids }) => ids().length >= expected.length));
    for (const { ids } of clients) expect(ids()).toEqual(expected);
  });

  it('a client that takes nothing is cut off after a bounded buffer, and no other', async () => {
    const { open, announce, streams } = setUp();
    const slow = await open();
    slow.body.on('error', () => undefined);
    const quick = readAll(await open());
    let longest = 0;
    for (let n = 1; slow.isOpen; n += 1) {
      await announce(20);
      await until(() => quick.ids().length === n * 20);
      longest = Math.max(longest, slow.body.readableLength);
    }
    expect(longest).toBeGreaterThan(32 * 1024);
    expect(longest).toBeLessThanOrEqual(64 * 1024);
    await until(() => streams.counts.open === 1);
    expect(streams.counts).toEqual({ open: 1, opened: 2, cut: 1 });
    // Its place is free, and it goes on where it was.
    const back = readAll(await open({ after: slow.position, max: 2 }));
    await announce(1);
    await until(() => back.ids().length > 0);
    expect(quick.client.isOver).toBe(false);
  });

  it('a client that takes nothing while it catches up is waited for, and then cut off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { open, announce, positions, streams } = setUp();
    await announce(900);
    const slow = await open({ after: (await positions())[0] ?? '' });
    slow.body.on('error', () => undefined);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(slow.isOpen).toBe(true);
    expect(slow.body.readableLength).toBeLessThanOrEqual(64 * 1024);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(slow.isOpen).toBe(false);
    expect(streams.counts.open).toBe(0);
  });

  it('keeps every connection alive, and tells clients how far what they do not want has come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    const { open, announce, stores } = setUp();
    const clients: ReturnType<typeof readAll>[] = [];
    for (let n = 0; n < 5; n += 1)
      clients.push(readAll(await open({ filter: { kinds: new Set(['payment']), types: undefined } })));
    await announce(3);
    await vi.advanceTimersByTimeAsync(15_000);
    const newest = await stores.feeds.newest(MCP_SERVER);
    for (const { client, ids } of clients) {
      expect(client.text).toContain(`\n\n:\n\nid: ${newest}\n\n`);
      expect(ids()).toEqual([]);
    }
    await vi.advanceTimersByTimeAsync(30_000);
    for (const { client } of clients) {
      expect(client.text.match(/^:$/gm)).toHaveLength(3);
      expect(client.text.split(newest)).toHaveLength(2);
    }
  });

  it('ends a stream before it outlives its credential for long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    const { open, streams } = setUp();
    const { client } = readAll(await open());
    await vi.advanceTimersByTimeAsync(53 * 60_000);
    expect(client.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(8 * 60_000);
    expect(client.isOver).toBe(true);
    expect(streams.counts.open).toBe(0);
  });

  it('goes on when the store was away', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let isAway = false;
    const { open, announce, positions, onError } = setUp(feeds => ({
      async read(id, p) {
        if (isAway) throw new StoreUnavailableError();
        return feeds.read(id, p);
      },
    }));
    const { ids } = readAll(await open());
    await vi.advanceTimersByTimeAsync(1);
    isAway = true;
    await announce(5);
    await vi.advanceTimersByTimeAsync(10);
    expect(onError).toHaveBeenCalled();
    await expect(open({ after: '1-0' })).rejects.toThrow(StoreUnavailableError);
    isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ids()).toEqual(await positions());
  });

  it('a refused start takes no place', async () => {
    let isAway = true;
    const { open, streams } = setUp(feeds => ({
      async newest(id) {
        if (isAway) throw new StoreUnavailableError();
        return feeds.newest(id);
      },
    }));
    await expect(open()).rejects.toThrow(StoreUnavailableError);
    await expect(open()).rejects.toThrow(StoreUnavailableError);
    expect(streams.counts.open).toBe(0);
    isAway = false;
    readAll(await open({ max: 1 }));
    await expect(open({ max: 1 })).rejects.toMatchObject({ code: 'rate_limited' });
    expect(streams.counts.open).toBe(1);
  });

  it('ends the streams of a reader that has lost its place', async () => {
    let isLost = false;
    const { open, announce } = setUp(feeds => ({
      async read(id, p) {
        if (!isLost) return feeds.read(id, p);
        isLost = false;
        return { result: 'gone' };
      },
    }));
    const { client } = readAll(await open());
    await until(() => client.text !== '');
    isLost = true;
    await announce(1);
    await until(() => client.isOver);
    expect(client.text).toMatch(/retry: \d+\n\n$/);
  });

  it('closing ends all of them and says when to come back', async () => {
    const { open, streams, announce } = setUp();
    const clients = [readAll(await open()), readAll(await open())];
    await streams.close();
    await until(() => clients.every(({ client }) => client.isOver));
    for (const { client } of clients) expect(client.text).toMatch(/retry: \d+\n\n$/);
    expect(streams.counts.open).toBe(0);
    await announce(1);
    for (const { ids } of clients) expect(ids()).toEqual([]);
  });
});

/** The type says what is kept of an event; nothing else may go out. */
it('an event is sent with what the contract names and nothing more', async () => {
  const { eventFrame } = await import('./event-stream.ts');
  const event: FeedEvent = {
    ...{ eventId: 'ev_7fA.1', type: 'elicitation.pending', elicitationId: `el_7f${'A'.repeat(43)}` },
    ...{ mcpServerId: MCP_SERVER, kind: 'form', position: '5-0', occurredAt: 0 },
  };
  expect(String(eventFrame(event))).toBe(
    `event: elicitation.pending\nid: 5-0\ndata: {"eventId":"ev_7fA.1","type":"elicitation.pending","elicitationId":"${event.elicitationId}","kind":"form","occurredAt":"1970-01-01T00:00:00.000Z"}\n\n`,
  );
});
