import { randomInt } from 'node:crypto';
import { SHARDS, type Shard } from './ids.ts';

export interface SweeperOptions<T> {
  /** Returns up to `limit` due items of a shard, longest overdue first. */
  readonly due: (shard: Shard, limit: number) => Promise<readonly T[]>;
  /** Handles one item. Several replicas may handle the same item, unless `due` returned it to this caller alone. */
  readonly handle: (item: T) => Promise<unknown>;
  /**
   * Called for every failed item, and once per tick for unreadable shards, because they fail together. A failure ends neither the
   * tick nor the sweeper; the item is due again in the next round.
   */
  readonly onError: (error: unknown) => void;
  /** Called after each round over all shards, with the milliseconds since the round before. */
  readonly onRound?: (tookMs: number) => void;
  /** Pause between two ticks. Default 1000 ms: with the default share, every shard is swept every 8 seconds. */
  readonly intervalMs?: number;
  /** Shards per tick. Default 32. */
  readonly shardsPerTick?: number;
  /** Maximum number of items per shard and tick, handled one after another. Default 100. */
  readonly batch?: number;
  /** Order of the shards in a round. Random by default, so that replicas rarely work on the same shard. */
  readonly shuffle?: (shards: readonly Shard[]) => readonly Shard[];
}

export interface Sweeper extends AsyncDisposable {
  /** Resolves when the current tick is done. The sweeper does nothing afterwards. */
  stop(): Promise<void>;
}

/** Failed items of a shard are due first again. The sweeper skips up to this many, so that they do not delay later ones. */
const STEPPED_OVER = 1_000;

/**
 * Handles due items, shard by shard: elicitations past `expiresAt`, whose waiters need a wake-up, and pending revocations. Every
 * replica sweeps. Expiry is a compare-and-set, so a second attempt changes nothing; a revocation is claimed first.
 */
export function startSweeper<T>(options: SweeperOptions<T>): Sweeper {
  const {
    due,
    handle,
    onError,
    onRound,
    intervalMs = 1_000,
    shardsPerTick = 32,
    batch = 100,
    shuffle = shuffled,
  } = options;
  /** Number of items per shard that failed in the last tick. */
  const failed = new Map<Shard, number>();
  let isStopped = false;
  /** Whether this tick has already reported a shard that could not be read. */
  let isReported = false;
  let round: Shard[] = [];
  let roundEndedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let tick = Promise.resolve();

  async function sweep(shard: Shard): Promise<void> {
    const stepsOver = failed.get(shard) ?? 0;
    failed.delete(shard);
    try {
      for (const item of await due(shard, batch + stepsOver)) {
        if (isStopped) return;
        await handle(item).catch((error: unknown) => {
          failed.set(shard, Math.min((failed.get(shard) ?? 0) + 1, STEPPED_OVER));
          onError(error);
        });
      }
    } catch (error) {
      if (!isReported) onError(error);
      isReported = true;
    }
  }

  async function sweepShare(): Promise<void> {
    if (round.length === 0) round = [...shuffle(SHARDS)];
    isReported = false;
    for (const shard of round.splice(0, shardsPerTick)) {
      if (isStopped) return;
      await sweep(shard);
    }
    if (round.length > 0) return;
    onRound?.(performance.now() - roundEndedAt);
    roundEndedAt = performance.now();
  }

  /** Schedules the next tick only after the current one, so ticks never overlap. */
  function schedule(): void {
    timer = setTimeout(() => {
      tick = sweepShare().finally(() => {
        if (!isStopped) schedule();
      });
    }, intervalMs);
    timer.unref();
  }

  async function stop(): Promise<void> {
    isStopped = true;
    clearTimeout(timer);
    await tick;
  }

  schedule();
  return { stop, [Symbol.asyncDispose]: stop };
}

function shuffled(shards: readonly Shard[]): readonly Shard[] {
  return shards
    .map(shard => ({ shard, rank: randomInt(2 ** 32) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ shard }) => shard);
}
