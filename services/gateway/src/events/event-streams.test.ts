import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { EventCarrier, type EventFeed, type FeedEvent, SHARDS, StoreUnavailableError } from '@postern/elicitation';
import { createSqliteStores } from '@postern/store-sqlite';
import { samples } from '@postern/testkit/contract';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { requestFields, runInRequest } from '../platform/http/request-context.ts';
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
  const stores = createSqliteStores({ path: ':memory:', now: Date.now, feed: { events: 1_000 } });
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
  const open = (change: Partial<OpenEventStream> = {}, response: Writable = new Client()) =>
    streams.open(
      {
        mcpServerId: MCP_SERVER,
        max: 10,
        after: undefined,
        filter: { kinds: undefined, types: undefined },
        isCurrent: () => true,
        ...change,
      },
      () => response,
    );
  const carrier = new EventCarrier(stores.outbox, { perShard: 10_000 });
  return {
    streams,
    stores,
    onError,
    /** Adds this number of events in one step. */
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

/** A client that reads immediately. */
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

/** A response that the client does not read. */
const unread = () => new Writable({ write: () => undefined });

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

describe('event streams', () => {
  it('share one reader per MCP server', async () => {
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

  it('send each event once while a stream catches up and joins the reader', async () => {
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

  it('disconnect only the client that does not read, after a bounded buffer', async () => {
    const { open, client, announce, streams } = setUp();
    const response = unread();
    const slow = await open({}, response);
    const quick = await client();
    let longest = 0;
    for (let n = 1; !response.destroyed; n += 1) {
      await announce(20);
      await until(() => quick.ids.length === n * 20);
      longest = Math.max(longest, response.writableLength);
    }
    expect(longest).toBeGreaterThan(32 * 1024);
    expect(longest).toBeLessThanOrEqual(64 * 1024);
    await until(() => streams.counts.open === 1);
    expect(streams.counts).toEqual({ open: 1, opened: 2, cut: 1 });
    // The client can reconnect and resumes where it was.
    const back = await client({ after: slow?.position, max: 2 });
    await announce(1);
    await until(() => back.ids.length > 0);
    expect(quick.closed).toBe(false);
  });

  it('disconnect a client that does not read while it catches up, after a timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { open, announce, positions, streams } = setUp();
    await announce(900);
    const response = unread();
    await open({ after: (await positions())[0] ?? '' }, response);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(response.destroyed).toBe(false);
    expect(response.writableLength).toBeGreaterThan(16 * 1024);
    expect(response.writableLength).toBeLessThanOrEqual(64 * 1024);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(response.destroyed).toBe(true);
    expect(streams.counts.open).toBe(0);
  });

  it('send all events to a slow client that catches up', async () => {
    const { open, announce, positions } = setUp();
    await announce(900);
    const taken: string[] = [];
    let take: () => void = () => undefined;
    const response = new Writable({
      highWaterMark: 1_000_000,
      write(chunk: Buffer, _encoding, done) {
        taken.push(String(chunk));
        take = done;
      },
    });
    const expected = await positions();
    await open({ after: expected[0] ?? '' }, response);
    let longest = 0;
    // Reads one frame at a time.
    while (taken.length < expected.length) {
      longest = Math.max(longest, response.writableLength);
      take();
      await turn();
    }
    expect(taken.slice(1).map(frame => /^id: (.*)$/m.exec(frame)?.[1])).toEqual(expected.slice(1));
    expect(longest).toBeLessThanOrEqual(64 * 1024);
  });

  it('event streams free the slot of a client that disconnects before its response begins', async () => {
    const { streams } = setUp();
    const asked = { mcpServerId: MCP_SERVER, max: 1, after: undefined };
    const filter = { kinds: undefined, types: undefined };
    await expect(streams.open({ ...asked, filter, isCurrent: () => true }, () => undefined)).resolves.toBeUndefined();
    expect(streams.counts.open).toBe(0);
  });

  it('send heartbeats, which move the last event id past filtered events', async () => {
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

  it('end after about an hour, so that they do not outlive their credential for long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    const { client, streams } = setUp();
    const reader = await client();
    await vi.advanceTimersByTimeAsync(53 * 60_000);
    expect(reader.writableEnded).toBe(false);
    await vi.advanceTimersByTimeAsync(8 * 60_000);
    expect(reader.closed).toBe(true);
    expect(streams.counts.open).toBe(0);
  });

  it('continue after Redis was unavailable', async () => {
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

  it('S181: the shared reader names neither the request that started it nor the API key of that request', async () => {
    const named: unknown[] = [];
    const { open, onError } = setUp(() => ({
      async read() {
        throw new StoreUnavailableError();
      },
    }));
    onError.mockImplementation(() => void named.push(requestFields()));
    const context = { requestId: 'rq_1', source: '192.0.2.7', apiKeyId: 'ak_1' };
    await new Promise(resolve => runInRequest(context, () => void open().then(resolve)));
    await until(() => named.length > 0);
    expect(named).toEqual([{}]);
  });

  it('event streams free the slot of a refused request', async () => {
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

  it('end if the feed has dropped the position of the reader', async () => {
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

  it('end with a reconnection time when the process stops', async () => {
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

/** A stored event may have more members, which must not be sent. */
it('sends only the members of the contract', async () => {
  const { eventFrame } = await import('./event-stream.ts');
  const event: FeedEvent = {
    eventId: 'ev_7fA.1',
    type: 'elicitation.pending',
    elicitationId: `el_7f${'A'.repeat(43)}`,
    mcpServerId: MCP_SERVER,
    kind: 'form',
    position: '5-0',
    occurredAt: 0,
  };
  expect(String(eventFrame(event))).toBe(
    `event: elicitation.pending\nid: 5-0\ndata: {"eventId":"ev_7fA.1","type":"elicitation.pending","elicitationId":"${event.elicitationId}","kind":"form","occurredAt":"1970-01-01T00:00:00.000Z"}\n\n`,
  );
});
