import { randomInt } from 'node:crypto';
import { SHARDS, type Shard } from '@postern/elicitation';

export interface SweeperOptions<T> {
  /** What is due in a shard, no more than `limit`: always those that are longest due. */
  readonly due: (shard: Shard, limit: number) => Promise<readonly T[]>;
  /** Deals with one of them. Unless `due` gave it to this caller alone, any number of replicas may deal with the same one. */
  readonly handle: (item: T) => Promise<unknown>;
  /**
   * A failure ends neither the tick nor the sweeper; what was left is due again in the next round. Told of every item that failed, and
   * once per tick of shards that could not be asked: where one cannot, many cannot.
   */
  readonly onError: (error: unknown) => void;
  /** Told when every shard has been looked at once more, with the milliseconds since the round before. */
  readonly onRound?: (tookMs: number) => void;
  /** Pause between two ticks. Default 1000 ms: with the default share, every shard is looked at every 8 seconds. */
  readonly intervalMs?: number;
  /** Shards per tick. Default 32. */
  readonly shardsPerTick?: number;
  /** What is dealt with per shard and tick, at most, one after another. Default 100. */
  readonly batch?: number;
  /** Order of the shards in a round; random by default, so that replicas rarely meet. */
  readonly shuffle?: (shards: readonly Shard[]) => readonly Shard[];
}

export interface Sweeper extends AsyncDisposable {
  /** Resolves when the tick in progress is done; nothing is touched afterwards. */
  stop(): Promise<void>;
}

/** What failed is due again, before everything that came later. So many of a shard keep nobody else waiting. */
const STEPPED_OVER = 1_000;

/**
 * Deals with what time makes due, shard by shard: elicitations whose time is over, because somebody may be waiting for exactly
 * that, and revocations that are still to be told. Every replica sweeps. An end is a compare-and-set, so the second to come
 * changes nothing; a revocation is claimed.
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
  /** How many of each shard failed the last time. */
  const failed = new Map<Shard, number>();
  let isStopped = false;
  /** In this tick it was told already that a shard could not be asked. */
  let isTold = false;
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
      if (!isTold) onError(error);
      isTold = true;
    }
  }

  async function sweepShare(): Promise<void> {
    if (round.length === 0) round = [...shuffle(SHARDS)];
    isTold = false;
    for (const shard of round.splice(0, shardsPerTick)) {
      if (isStopped) return;
      await sweep(shard);
    }
    if (round.length > 0) return;
    onRound?.(performance.now() - roundEndedAt);
    roundEndedAt = performance.now();
  }

  /** The next tick is set only after this one is done, so ticks never overlap. */
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
