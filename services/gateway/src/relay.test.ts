import { type EventOutbox, SHARDS, type Shard, StoreUnavailableError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { createMemoryStores } from '@postern/testkit/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Relay, type RelayOptions, startRelay } from './relay.ts';

const { ask, cancel, created, from, moved, operation, somebody } = samples;
const MCP_SERVER = 'tracker';
/** Until every relay has noticed that nothing happens any more. */
const SETTLED_MS = 500;

let running: Relay[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  await Promise.all(running.map(relay => relay.stop()));
  running = [];
  vi.useRealTimers();
});

function createLeases() {
  let lease = { holder: '', endsAt: 0 };
  return {
    take: vi.fn(async ({ holder, leaseMs }: { holder: string; leaseMs: number }) => {
      if (lease.holder !== holder && lease.endsAt > Date.now()) return false;
      lease = { holder, endsAt: Date.now() + leaseMs };
      return true;
    }),
    release: vi.fn(async ({ holder }: { holder: string }) => {
      if (lease.holder === holder) lease = { holder: '', endsAt: 0 };
    }),
  };
}

/** The outbox as one replica sees it: calls are counted, and it can be cut off. */
function seenBy(outbox: EventOutbox) {
  let isCut = false;
  const through = <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    vi.fn((...args: A) => (isCut ? new Promise<R>(() => undefined) : call(...args)));
  return {
    cursor: through((shard: Shard) => outbox.cursor(shard)),
    moveCursor: through((shard: Shard, position: string) => outbox.moveCursor(shard, position)),
    read: through((shard: Shard, p: Parameters<EventOutbox['read']>[1]) => outbox.read(shard, p)),
    carry: through((to: string, entries: Parameters<EventOutbox['carry']>[1]) => outbox.carry(to, entries)),
    onCommit: vi.fn((listener: Parameters<EventOutbox['onCommit']>[0]) => outbox.onCommit(listener)),
    /** As a killed process: nothing of it happens any more. */
    cut() {
      isCut = true;
    },
  };
}

function setUp() {
  const stores = createMemoryStores({ now: Date.now });
  const leases = createLeases();
  const onError = vi.fn();
  const onGap = vi.fn();
  return {
    stores,
    ...{ leases, onError, onGap },
    start(options: Partial<RelayOptions> = {}): Relay {
      const relay = startRelay({ outbox: stores.outbox, leases, onError, onGap, ...options });
      running.push(relay);
      return relay;
    },
    async announce(): Promise<void> {
      const request = from(MCP_SERVER, ask(somebody(), { coalescingDigest: operation() }));
      await moved(stores.elicitations, await created(stores.elicitations, request), cancel);
    },
    async fed(): Promise<number> {
      const page = await stores.feeds.read(MCP_SERVER, { after: undefined, limit: 10_000 });
      return page.result === 'events' ? page.events.length : 0;
    },
  };
}

describe('relay', () => {
  it('carries what was there before it started', async () => {
    const { start, announce, fed } = setUp();
    await announce();
    const relay = start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    expect(await fed()).toBe(2);
    expect(relay.counts).toMatchObject({ sweeps: 1, carried: 2, repeated: 0, gaps: 0, failures: 0 });
  });

  it('carries what is committed at once', async () => {
    const { start, announce, fed } = setUp();
    start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(0);
    expect(await fed()).toBe(2);
  });

  it('finds by itself what no wake-up told of', async () => {
    const { start, announce, fed, stores } = setUp();
    const deaf = { ...seenBy(stores.outbox), onCommit: () => ({ [Symbol.dispose]: () => undefined }) };
    start({ outbox: deaf, sweepMs: 8_000 });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    expect(await fed()).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await fed()).toBe(2);
  });

  it('looks at everything when wake-ups may have been missed', async () => {
    const { start, announce, fed, stores } = setUp();
    let tell: (shard: Shard | undefined) => void = () => undefined;
    const outbox: EventOutbox = {
      ...seenBy(stores.outbox),
      onCommit: listener => {
        tell = listener;
        return { [Symbol.dispose]: () => undefined };
      },
    };
    start({ outbox });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    tell(undefined);
    await vi.advanceTimersByTimeAsync(0);
    expect(await fed()).toBe(2);
  });

  it('leaves an idle store as it is: no lease, no cursor, no feed', async () => {
    const { start, announce, stores, leases } = setUp();
    const outboxes = [seenBy(stores.outbox), seenBy(stores.outbox)];
    for (const outbox of outboxes) start({ outbox });
    await announce();
    await vi.advanceTimersByTimeAsync(30_000);
    leases.take.mockClear();
    for (const outbox of outboxes) for (const verb of [outbox.moveCursor, outbox.carry]) verb.mockClear();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(leases.take).not.toHaveBeenCalled();
    for (const { moveCursor, carry } of outboxes) {
      expect(moveCursor).not.toHaveBeenCalled();
      expect(carry).not.toHaveBeenCalled();
    }
  });

  it('is the work of one replica at a time', async () => {
    const { start, announce, fed, stores } = setUp();
    const outboxes = [seenBy(stores.outbox), seenBy(stores.outbox), seenBy(stores.outbox)];
    for (const outbox of outboxes) start({ outbox });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    for (let n = 0; n < 20; n += 1) {
      await announce();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(await fed()).toBe(40);
    expect(outboxes.filter(({ carry }) => carry.mock.calls.length > 0)).toHaveLength(1);
    expect(running.reduce((sum, { counts }) => sum + counts.carried, 0)).toBe(40);
    expect(running.reduce((sum, { counts }) => sum + counts.repeated, 0)).toBe(0);
  });

  it('P7: when the replica at it is killed, another one carries within 30 seconds', async () => {
    const { start, announce, fed, stores } = setUp();
    const victim = seenBy(stores.outbox);
    start({ outbox: victim });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(0);
    start();
    victim.cut();
    running.shift();
    await announce();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await fed()).toBe(4);
  });

  it('after a stop another one goes on without waiting for the lease', async () => {
    const { start, announce, fed, leases } = setUp();
    const relay = start();
    await announce();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await relay.stop();
    expect(leases.release).toHaveBeenCalledTimes(1);
    start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(0);
    expect(await fed()).toBe(4);
  });

  it('carries the last commits before it stops, and nothing afterwards', async () => {
    const { start, announce, fed, stores } = setUp();
    const relay = start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await relay.stop();
    expect(await fed()).toBe(2);
    for (const shard of SHARDS) {
      const { entries } = await stores.outbox.read(shard, { after: await stores.outbox.cursor(shard), limit: 1 });
      expect(entries).toEqual([]);
    }
    await announce();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await fed()).toBe(2);
  });

  it('tries again what failed', async () => {
    const { start, announce, fed, stores, onError } = setUp();
    const outbox = seenBy(stores.outbox);
    const relay = start({ outbox });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    for (const verb of [outbox.read, outbox.carry]) verb.mockRejectedValueOnce(new StoreUnavailableError());
    await announce();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await fed()).toBe(2);
    expect(onError).toHaveBeenCalledTimes(2);
    expect(relay.counts.failures).toBe(2);
  });

  it('tells of events that were dropped before anybody carried them', async () => {
    const { start, announce, stores, onGap } = setUp();
    const outbox = seenBy(stores.outbox);
    outbox.read.mockImplementation(async (shard, p) => ({ ...(await stores.outbox.read(shard, p)), hasGap: true }));
    await announce();
    const relay = start({ outbox });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    expect(onGap).toHaveBeenCalledTimes(SHARDS.length);
    expect(relay.counts).toMatchObject({ gaps: SHARDS.length, carried: 2 });
  });
});
