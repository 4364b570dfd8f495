import { type EventOutbox, SHARDS, type Shard, StoreUnavailableError } from '@postern/elicitation';
import { createSqliteStores } from '@postern/store-sqlite';
import { samples } from '@postern/testkit/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createChannels } from '../platform/call-channels.ts';
import { createMetrics } from '../platform/metrics/create-metrics.ts';
import { type Relay, type RelayOptions, relayReports, startRelay } from './relay.ts';

const { ask, cancel, created, from, moved, operation, somebody } = samples;
const MCP_SERVER = 'tracker';
/** Time after which an idle relay has stored its cursors. */
const SETTLED_MS = 500;
/** Time after which a relay has carried an event. */
const GATHERED_MS = 10;

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

/** The outbox of one replica, which counts calls and can be cut off. */
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
    /** Imitates a killed process: no call returns. */
    cut() {
      isCut = true;
    },
  };
}

function setUp() {
  const stores = createSqliteStores({ path: ':memory:', now: Date.now });
  const leases = createLeases();
  const onError = vi.fn();
  const onGap = vi.fn();
  return {
    stores,
    leases,
    onError,
    onGap,
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
  it('carries the events from before its start', async () => {
    const { start, announce, fed } = setUp();
    await announce();
    const relay = start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    expect(await fed()).toBe(2);
    expect(relay.counts).toMatchObject({ sweeps: 1, carried: 2, repeated: 0, gaps: 0, failures: 0 });
  });

  it('carries a committed event within ten milliseconds', async () => {
    const { start, announce, fed } = setUp();
    start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(GATHERED_MS);
    expect(await fed()).toBe(2);
  });

  it('finds an event without a wake-up', async () => {
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

  it('sweeps all shards when wake-ups may have been lost', async () => {
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
    await vi.advanceTimersByTimeAsync(GATHERED_MS);
    expect(await fed()).toBe(2);
  });

  it('writes no lease, cursor or feed while there are no events', async () => {
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

  it('runs on one replica at a time', async () => {
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

  it('P7: another replica carries events within 30 seconds after the lease holder was killed', async () => {
    const { start, announce, fed, stores } = setUp();
    const victim = seenBy(stores.outbox);
    start({ outbox: victim });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(GATHERED_MS);
    start();
    victim.cut();
    running.shift();
    await announce();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await fed()).toBe(4);
  });

  it('another replica continues after a stop without waiting for the lease', async () => {
    const { start, announce, fed, leases } = setUp();
    const relay = start();
    await announce();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await relay.stop();
    expect(leases.release).toHaveBeenCalledTimes(1);
    start();
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    await announce();
    await vi.advanceTimersByTimeAsync(GATHERED_MS);
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

  it('retries after a failure', async () => {
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

  it('counts and logs events that were dropped before a relay carried them', async () => {
    const { start, announce, stores } = setUp();
    const logger = { warn: vi.fn(), error: vi.fn() };
    const metrics = createMetrics(createChannels({ error: () => {} }));
    const outbox = seenBy(stores.outbox);
    outbox.read.mockImplementation(async (shard, p) => ({ ...(await stores.outbox.read(shard, p)), hasGap: true }));
    await announce();
    const relay = start({ outbox, ...relayReports(logger, metrics) });
    await vi.advanceTimersByTimeAsync(SETTLED_MS);
    expect(logger.error.mock.calls.map(([fields]) => fields)).toEqual(
      SHARDS.map(shard => ({ event: 'relay.gap', shard })),
    );
    expect(await metrics.registry.metrics()).toContain(`postern_relay_gaps_total ${SHARDS.length}\n`);
    expect(relay.counts).toMatchObject({ gaps: SHARDS.length, carried: 2 });
  });
});
