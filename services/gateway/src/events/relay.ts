import { randomInt } from 'node:crypto';
import {
  EventCarrier,
  type EventOutbox,
  newOperationId,
  SHARDS,
  type Shard,
  type Stores,
  systemEntropy,
} from '@postern/elicitation';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics/create-metrics.ts';
import { createWakeSignal } from './wake-signal.ts';

export interface RelayOptions {
  readonly outbox: EventOutbox;
  readonly leases: Pick<Stores['leases'], 'take' | 'release'>;
  /** Called on each failure. The relay retries. */
  readonly onError: (error: unknown) => void;
  /** Events of a shard were dropped before a relay carried them: no relay has run for thousands of commits. */
  readonly onGap: (shard: Shard) => void;
  /** Duration of the lease, after which another replica takes over from a dead one. Default 2 seconds. */
  readonly leaseMs?: number;
  /** Pause after a failure, and while another replica holds the lease. Default 2 seconds. */
  readonly retryMs?: number;
  /** Mean interval of the sweeps, which read every shard to find events after a lost wake-up. Default 10 seconds. */
  readonly sweepMs?: number;
}

/** Counts since the start of this relay. */
export interface RelayCounts {
  readonly rounds: number;
  readonly sweeps: number;
  /** Events that this relay added to feeds. */
  readonly carried: number;
  /** Events that were in the feed already: a relay was killed, or two relays ran concurrently. */
  readonly repeated: number;
  /** Shards with events that were dropped before a relay carried them. */
  readonly gaps: number;
  readonly failures: number;
}

export interface Relay extends AsyncDisposable {
  readonly counts: RelayCounts;
  /** Resolves after the round in progress. The relay writes nothing afterwards. */
  stop(): Promise<void>;
}

const LEASE = 'relay';
/** The relay stores its cursors after this time without an event. */
const QUIET_MS = 100;
/** Maximum time between two writes of the cursors under load. */
const CURSOR_MS = 1_000;
/**
 * Pause before a round. Commits of this time are carried together, and the relay does not compete with the responses and waiting reads
 * that each commit wakes.
 */
const GATHER_MS = 10;
/** Maximum pause after a round with many shards: a busy relay must not delay the requests of this process. */
const LONGEST_PAUSE_MS = 25;
const SHARDS_PER_MS = 4;
/** Shards that a sweep reads at the same time. */
const SWEEP_STEP = 32;

/** Reports failures of the relay. After a gap, MCP servers miss events until they read the status. */
export function relayReports(
  logger: Pick<Logger, 'warn' | 'error'>,
  metrics: Pick<Metrics, 'relayGap'> | undefined,
): Pick<RelayOptions, 'onError' | 'onGap'> {
  return {
    onError: error => logger.warn({ event: 'relay.error', error }, 'carrying events failed; retrying'),
    onGap(shard) {
      metrics?.relayGap();
      logger.error({ event: 'relay.gap', shard }, 'events dropped before a relay carried them');
    },
  };
}

/**
 * Carries every committed event to the feed of its MCP server. Each commit wakes it. One replica at a time does the work, under a
 * lease that it takes when there are events, so an idle deployment writes nothing. The lease only saves work: two concurrent
 * relays, or a relay that is killed between any two steps, leave correct feeds.
 */
export function startRelay(options: RelayOptions): Relay {
  const { outbox, leases, onError, onGap, leaseMs = 2_000, retryMs = 2_000, sweepMs = 10_000 } = options;
  const own = { name: LEASE, holder: newOperationId(systemEntropy) };
  const carrier = new EventCarrier(outbox);
  const stopping = new AbortController();
  const wakeSignal = createWakeSignal(stopping.signal);
  const pauses = createWakeSignal(stopping.signal);
  /** Shards that may have events to carry. */
  const open = new Set<Shard>();
  const counts = { rounds: 0, sweeps: 0, carried: 0, repeated: 0, gaps: 0, failures: 0 };
  let leaseEndsAt = 0;
  let cursorsStoredAt = performance.now();
  let sweepsAt = performance.now();

  const listening = outbox.onCommit(shard => {
    if (shard === undefined) sweepsAt = 0;
    else open.add(shard);
    wakeSignal.wake();
  });

  async function holdsLease(): Promise<boolean> {
    const now = performance.now();
    if (leaseEndsAt - now > leaseMs / 2) return true;
    const wasHeld = leaseEndsAt > now;
    leaseEndsAt = 0;
    if (!(await leases.take({ ...own, leaseMs }))) return false;
    // Another replica may have held the lease since.
    if (!wasHeld) carrier.forget();
    leaseEndsAt = now + leaseMs;
    return true;
  }

  async function hasEvents(shard: Shard): Promise<boolean> {
    const { entries, hasGap } = await outbox.read(shard, { after: await outbox.cursor(shard), limit: 1 });
    return hasGap || entries.length > 0;
  }

  /** Returns the shards with events to carry. Writes nothing. */
  async function shardsWithEvents(shards: readonly Shard[]): Promise<readonly Shard[]> {
    const found: Shard[] = [];
    for (let at = 0; at < shards.length && !stopping.signal.aborted; at += SWEEP_STEP) {
      const step = shards.slice(at, at + SWEEP_STEP);
      const hasMore = await Promise.all(step.map(hasEvents));
      found.push(...step.filter((_, nth) => hasMore[nth]));
    }
    return found;
  }

  async function sweep(): Promise<void> {
    for (const shard of await shardsWithEvents(SHARDS)) open.add(shard);
    counts.sweeps += 1;
    sweepsAt = performance.now() + sweepMs * (0.75 + randomInt(500) / 1_000);
  }

  async function storeCursors(): Promise<void> {
    await carrier.moveCursors();
    cursorsStoredAt = performance.now();
  }

  async function round(): Promise<void> {
    await pauses.wait(GATHER_MS);
    if (!(await holdsLease())) {
      await pauses.wait(retryMs);
      // Skips the shards that the other replica has carried by now.
      await takeOpen(async shards => {
        for (const shard of await shardsWithEvents(shards)) open.add(shard);
      });
      return;
    }
    const shards = await takeOpen(carry);
    if (performance.now() - cursorsStoredAt > CURSOR_MS) await storeCursors();
    await pauses.wait(Math.min(Math.floor(shards.length / SHARDS_PER_MS), LONGEST_PAUSE_MS));
  }

  /** A wake-up during the work opens its shard again. After a failure all shards stay open. */
  async function takeOpen(work: (shards: readonly Shard[]) => Promise<void>): Promise<readonly Shard[]> {
    const shards = [...open];
    open.clear();
    try {
      await work(shards);
    } catch (error) {
      for (const shard of shards) open.add(shard);
      throw error;
    }
    return shards;
  }

  async function carry(shards: readonly Shard[]): Promise<void> {
    const { found, carried, gaps, more } = await carrier.carry(shards);
    counts.rounds += 1;
    counts.carried += carried;
    counts.repeated += found - carried;
    counts.gaps += gaps.length;
    for (const shard of gaps) onGap(shard);
    for (const shard of more) open.add(shard);
  }

  async function step(): Promise<void> {
    if (performance.now() >= sweepsAt) await sweep();
    else if (open.size > 0) await round();
    else if (!carrier.isBehind) await wakeSignal.wait(sweepsAt - performance.now());
    else if (!(await wakeSignal.wait(QUIET_MS))) await storeCursors();
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await step();
      } catch (error) {
        counts.failures += 1;
        onError(error);
        await pauses.wait(retryMs);
      }
    }
  }

  const running = run();
  let stopped: Promise<void> | undefined;
  async function end(): Promise<void> {
    listening[Symbol.dispose]();
    stopping.abort();
    await running;
    try {
      // Another replica would carry the last commits only after its pause.
      if (open.size > 0 && (await holdsLease())) await takeOpen(carry);
      await storeCursors();
      // Another replica need not wait for the expiry.
      if (leaseEndsAt > performance.now()) await leases.release(own);
    } catch (error) {
      onError(error);
    }
  }
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  return { counts, stop, [Symbol.asyncDispose]: stop };
}
