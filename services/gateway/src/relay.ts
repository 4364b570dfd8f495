import { randomInt } from 'node:crypto';
import {
  EventCarrier,
  type EventOutbox,
  newOperationId,
  SHARDS,
  type Shard,
  systemEntropy,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { createBell } from './bell.ts';

export interface RelayOptions {
  readonly outbox: EventOutbox;
  readonly leases: Pick<RedisStores['leases'], 'take' | 'release'>;
  /** A failure does not end the relay: it tries again. */
  readonly onError: (error: unknown) => void;
  /** Events of a shard were dropped before anybody carried them: no relay has run for thousands of commits. */
  readonly onGap: (shard: Shard) => void;
  /** How long the others leave it alone after this replica was killed at it. Default 2 seconds. */
  readonly leaseMs?: number;
  /** Pause after a failure, and after finding that another replica does the work. Default 2 seconds. */
  readonly retryMs?: number;
  /** Pause between two looks at every shard, for what no wake-up told of; about, so that replicas take turns. Default 10 seconds. */
  readonly sweepMs?: number;
}

/** Since the start of this relay. */
export interface RelayCounts {
  readonly rounds: number;
  readonly sweeps: number;
  /** Events that this relay added to feeds. */
  readonly carried: number;
  /** Events that were there already: somebody was killed, or two relays met. */
  readonly repeated: number;
  /** Shards of which events were dropped before anybody carried them. */
  readonly gaps: number;
  readonly failures: number;
}

export interface Relay extends AsyncDisposable {
  readonly counts: RelayCounts;
  /** Resolves when the round in progress is done; nothing is touched afterwards. */
  stop(): Promise<void>;
}

const LEASE = 'relay';
/** Nothing happened for so long: time to note how far everything was carried. */
const QUIET_MS = 100;
/** The longest that goes unnoted while much happens. */
const UNNOTED_MS = 1_000;
/** After a round with many shards more gathers: a busy relay must not take the process from those who wait for answers. */
const LONGEST_PAUSE_MS = 25;
const SHARDS_PER_MS = 4;
/** Shards looked at together in a sweep. */
const SWEEP_STEP = 32;

/**
 * Carries every committed event to the feed of its MCP server, woken by the commit itself. One replica at a time does it, under
 * a lease that is taken when there is something to do and that ends by itself: an idle deployment writes nothing. The lease only
 * saves work. Two relays at once, and one that is killed between any two steps, leave the feeds as they should be.
 */
export function startRelay(options: RelayOptions): Relay {
  const { outbox, leases, onError, onGap, leaseMs = 2_000, retryMs = 2_000, sweepMs = 10_000 } = options;
  const own = { name: LEASE, holder: newOperationId(systemEntropy) };
  const carrier = new EventCarrier(outbox);
  const stopping = new AbortController();
  const bell = createBell(stopping.signal);
  const pauses = createBell(stopping.signal);
  /** Shards that may have something to carry. */
  const open = new Set<Shard>();
  const counts = { rounds: 0, sweeps: 0, carried: 0, repeated: 0, gaps: 0, failures: 0 };
  let leaseEndsAt = 0;
  let notedAt = performance.now();
  let sweepsAt = performance.now();

  const listening = outbox.onCommit(shard => {
    if (shard === undefined) sweepsAt = 0;
    else open.add(shard);
    bell.ring();
  });

  async function holdsLease(): Promise<boolean> {
    const now = performance.now();
    if (leaseEndsAt - now > leaseMs / 2) return true;
    const wasHeld = leaseEndsAt > now;
    leaseEndsAt = 0;
    if (!(await leases.take({ ...own, leaseMs }))) return false;
    // Meanwhile somebody else may have had it.
    if (!wasHeld) carrier.forget();
    leaseEndsAt = now + leaseMs;
    return true;
  }

  async function hasNews(shard: Shard): Promise<boolean> {
    const { entries, hasGap } = await outbox.read(shard, { after: await outbox.cursor(shard), limit: 1 });
    return hasGap || entries.length > 0;
  }

  /** Those in which something is left to carry; nothing is written. */
  async function withNews(shards: readonly Shard[]): Promise<readonly Shard[]> {
    const found: Shard[] = [];
    for (let at = 0; at < shards.length && !stopping.signal.aborted; at += SWEEP_STEP) {
      const step = shards.slice(at, at + SWEEP_STEP);
      const news = await Promise.all(step.map(hasNews));
      found.push(...step.filter((_, nth) => news[nth]));
    }
    return found;
  }

  async function sweep(): Promise<void> {
    for (const shard of await withNews(SHARDS)) open.add(shard);
    counts.sweeps += 1;
    sweepsAt = performance.now() + sweepMs * (0.75 + randomInt(500) / 1_000);
  }

  async function noteCursors(): Promise<void> {
    await carrier.moveCursors();
    notedAt = performance.now();
  }

  async function round(): Promise<void> {
    if (!(await holdsLease())) {
      await pauses.wait(retryMs);
      // What the other one has carried by now needs nobody else.
      await takeOpen(async shards => {
        for (const shard of await withNews(shards)) open.add(shard);
      });
      return;
    }
    const shards = await takeOpen(carry);
    if (performance.now() - notedAt > UNNOTED_MS) await noteCursors();
    await pauses.wait(Math.min(Math.floor(shards.length / SHARDS_PER_MS), LONGEST_PAUSE_MS));
  }

  /** What is told meanwhile is open anew; what fails stays open. */
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
    else if (!carrier.isBehind) await bell.wait(sweepsAt - performance.now());
    else if (!(await bell.wait(QUIET_MS))) await noteCursors();
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
      // The last commits of this process are told of by nobody else.
      if (open.size > 0 && (await holdsLease())) await takeOpen(carry);
      await noteCursors();
      // The others need not wait for its end.
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
