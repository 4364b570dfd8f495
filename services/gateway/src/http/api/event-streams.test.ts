import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { EventCarrier, type EventFeed, type FeedEvent, SHARDS, StoreUnavailableError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { createMemoryStores } from '@postern/testkit/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
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
  const open = (change: Partial<OpenEventStream> = {}, answer: Writable = new Client()) =>
    streams.open(
      {
        ...{ mcpServerId: MCP_SERVER, max: 10, after: undefined },
        filter: { kinds: undefined, types: undefined },
        ...change,
      },
      () => answer,
    );
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
    open,
    async client(change: Partial<OpenEventStream> = {}): Promise<Client> {
      const client = new Client();
      await open(change, client);
      return client;
    },
  };
}

/** Reads all of its answer at once. */
class Client extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += String(chunk);
    done();
  }

  get ids(): readonly (string | undefined)[] {
    return [...this.text.matchAll(/^event: .*\nid: (.*)$/gm)].map(([, id]) => id);
  }
}

/** An answer of which the client takes nothing. */
const untaken = () => new Writable({ write: () => undefined });

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

describe('streams of events', () => {
  it('one reader serves them all', async () => {
    const read = vi.fn();
    const { client, announce, positions } = setUp(feeds => ({
      async read(id, p) {
        read();
        return feeds.read(id, p);
      },
    }));
    const clients: Client[] = [];
    for (let n = 0; n < 10; n += 1) clients.push(await client());
    await announce(0);
    const before = read.mock.calls.length;
    await announce(30);
    await until(() => clients.every(({ ids }) => ids.length === 30));
    const expected = await positions();
    for (const { ids } of clients) expect(ids).toEqual(expected);
    expect(read.mock.calls.length - before).toBeLessThan(10);
  });

  it('catching up and joining leave nothing out and nothing twice, whatever comes meanwhile', async () => {
    const { client, announce, positions } = setUp();
    await announce(250);
    const [first] = await positions();
    const clients: Client[] = [];
    for (let n = 0; n < 8; n += 1) {
      clients.push(await client({ after: first ?? '' }));
      await announce(20);
    }
    const expected = (await positions()).slice(1);
    await until(() => clients.every(({ ids }) => ids.length >= expected.length));
    for (const { ids } of clients) expect(ids).toEqual(expected);
  });

  it('a client that takes nothing is cut off after a bounded buffer, and no other', async () => {
    const { open, client, announce, streams } = setUp();
    const answer = untaken();
    const slow = await open({}, answer);
    const quick = await client();
    let longest = 0;
    for (let n = 1; !answer.destroyed; n += 1) {
      await announce(20);
      await until(() => quick.ids.length === n * 20);
      longest = Math.max(longest, answer.writableLength);
    }
    expect(longest).toBeGreaterThan(32 * 1024);
    expect(longest).toBeLessThanOrEqual(64 * 1024);
    await until(() => streams.counts.open === 1);
    expect(streams.counts).toEqual({ open: 1, opened: 2, cut: 1 });
    // Its place is free, and it goes on where it was.
    const back = await client({ after: slow?.position, max: 2 });
    await announce(1);
    await until(() => back.ids.length > 0);
    expect(quick.closed).toBe(false);
  });

  it('a client that takes nothing while it catches up is waited for, and then cut off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { open, announce, positions, streams } = setUp();
    await announce(900);
    const answer = untaken();
    await open({ after: (await positions())[0] ?? '' }, answer);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(answer.destroyed).toBe(false);
    expect(answer.writableLength).toBeGreaterThan(16 * 1024);
    expect(answer.writableLength).toBeLessThanOrEqual(64 * 1024);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(answer.destroyed).toBe(true);
    expect(streams.counts.open).toBe(0);
  });

  it('a client that takes its time while it catches up gets all of it', async () => {
    const { open, announce, positions } = setUp();
    await announce(900);
    const taken: string[] = [];
    let take: () => void = () => undefined;
    const answer = new Writable({
      highWaterMark: 1_000_000,
      write(chunk: Buffer, _encoding, done) {
        taken.push(String(chunk));
        take = done;
      },
    });
    const expected = await positions();
    await open({ after: expected[0] ?? '' }, answer);
    let longest = 0;
    // A frame at a time, as long as there is one.
    while (taken.length < expected.length) {
      longest = Math.max(longest, answer.writableLength);
      take();
      await turn();
    }
    expect(taken.slice(1).map(frame => /^id: (.*)$/m.exec(frame)?.[1])).toEqual(expected.slice(1));
    expect(longest).toBeLessThanOrEqual(64 * 1024);
  });

  it('a client that has gone before its answer began takes no place', async () => {
    const { streams } = setUp();
    const asked = { mcpServerId: MCP_SERVER, max: 1, after: undefined };
    const filter = { kinds: undefined, types: undefined };
    await expect(streams.open({ ...asked, filter }, () => undefined)).resolves.toBeUndefined();
    expect(streams.counts.open).toBe(0);
  });

  it('keeps every connection alive, and tells clients how far what they do not want has come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    const { client, announce, stores } = setUp();
    const clients: Client[] = [];
    for (let n = 0; n < 5; n += 1)
      clients.push(await client({ filter: { kinds: new Set(['payment']), types: undefined } }));
    await announce(3);
    await vi.advanceTimersByTimeAsync(15_000);
    const newest = await stores.feeds.newest(MCP_SERVER);
    for (const { text, ids } of clients) {
      expect(text).toContain(`\n\n:\n\nid: ${newest}\n\n`);
      expect(ids).toEqual([]);
    }
    await vi.advanceTimersByTimeAsync(30_000);
    for (const { text } of clients) {
      expect(text.match(/^:$/gm)).toHaveLength(3);
      expect(text.split(newest)).toHaveLength(2);
    }
  });

  it('ends a stream before it outlives its credential for long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    const { client, streams } = setUp();
    const reader = await client();
    await vi.advanceTimersByTimeAsync(53 * 60_000);
    expect(reader.writableEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(8 * 60_000);
    expect(reader.closed).toBe(true);
    expect(streams.counts.open).toBe(0);
  });

  it('goes on when the store was away', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let isAway = false;
    const { open, client, announce, positions, onError } = setUp(feeds => ({
      async read(id, p) {
        if (isAway) throw new StoreUnavailableError();
        return feeds.read(id, p);
      },
    }));
    const reader = await client();
    await vi.advanceTimersByTimeAsync(1);
    isAway = true;
    await announce(5);
    await vi.advanceTimersByTimeAsync(10);
    expect(onError).toHaveBeenCalled();
    await expect(open({ after: '1-0' })).rejects.toThrow(StoreUnavailableError);
    isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reader.ids).toEqual(await positions());
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
    await open({ max: 1 });
    await expect(open({ max: 1 })).rejects.toMatchObject({ code: 'rate_limited' });
    expect(streams.counts.open).toBe(1);
  });

  it('ends the streams of a reader that has lost its place', async () => {
    let isLost = false;
    const { client, announce } = setUp(feeds => ({
      async read(id, p) {
        if (!isLost) return feeds.read(id, p);
        isLost = false;
        return { result: 'gone' };
      },
    }));
    const reader = await client();
    await until(() => reader.text !== '');
    isLost = true;
    await announce(1);
    await until(() => reader.closed);
    expect(reader.text).toMatch(/retry: \d+\n\n$/);
  });

  it('closing ends all of them and says when to come back', async () => {
    const { client, streams, announce } = setUp();
    const clients = [await client(), await client()];
    await streams.close();
    await until(() => clients.every(({ closed }) => closed));
    for (const { text } of clients) expect(text).toMatch(/retry: \d+\n\n$/);
    expect(streams.counts.open).toBe(0);
    await announce(1);
    for (const { ids } of clients) expect(ids).toEqual([]);
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
