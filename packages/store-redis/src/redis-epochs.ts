import { SHARDS, type Shard } from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { CARRIED_KEPT } from './redis-event-outbox.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';
import { foundingText, parseShardEpoch, type ShardEpoch, shardEpochText } from './shard-epoch.ts';

export interface InspectedShard {
  /** Undefined where the shard has none. */
  readonly epoch: (ShardEpoch & { readonly isFounding: boolean }) | undefined;
  /** Set when the event that was asked about is lost: the id of the newest one before it, or '' without any. */
  readonly lostAfter?: string;
}

/** The epochs of all shards: how a Redis is known again. */
export class RedisEpochs {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /**
   * Reads every shard in one round. Shards that do not answer are left out.
   * @param events by shard, the id of an event that must still be there
   */
  async inspect(events: ReadonlyMap<Shard, string> = new Map()): Promise<ReadonlyMap<Shard, InspectedShard>> {
    const looks = SHARDS.map(async shard => {
      const keys = [this.#keys.epoch(shard), this.#keys.events(shard)];
      const reply = await this.#link.probe('inspectShard', keys, [events.get(shard) ?? '', CARRIED_KEPT]);
      return [shard, inspectedIn(reply)] as const;
    });
    const settled = await Promise.allSettled(looks);
    return new Map(settled.flatMap(look => (look.status === 'fulfilled' ? [look.value] : [])));
  }

  /**
   * Gives every shard its first epoch. Of several gateways that start together one decides: the one that is first at the first
   * shard. The others, and any gateway that follows one that died here, complete what that one began.
   * @returns what was decided
   * @throws StoreUnavailableError
   */
  async found(proposed: ShardEpoch): Promise<ShardEpoch> {
    const [first, ...others] = SHARDS.map(this.#keys.epoch);
    if (first === undefined) throw new TypeError('There are no shards.');
    await this.#put(first, foundingText(proposed), 'NX');
    const { deployment, epoch } = parseShardEpoch(textOf(await this.#link.call('get', first)));
    const decided = shardEpochText({ deployment, epoch });
    await Promise.all(others.map(key => this.#put(key, decided, 'NX')));
    await this.#put(first, decided);
    return { deployment, epoch };
  }

  /**
   * Begins a new epoch in shards that have none, or in any shards.
   * @throws StoreUnavailableError
   */
  async begin(
    epoch: ShardEpoch,
    shards: readonly Shard[],
    { replaces }: { readonly replaces: boolean },
  ): Promise<void> {
    const text = shardEpochText(epoch);
    await Promise.all(shards.map(shard => this.#put(this.#keys.epoch(shard), text, ...(replaces ? [] : ['NX']))));
  }

  #put(key: string, text: string, ...options: readonly string[]): Promise<unknown> {
    return this.#link.callFor('putEpoch', 'set', key, text, ...options);
  }
}

function inspectedIn(reply: unknown): InspectedShard {
  const [epoch, result, before] = listOf(reply).map(textOf);
  return {
    epoch: epoch === undefined || epoch === '' ? undefined : parseShardEpoch(epoch),
    ...(result === 'lost' ? { lostAfter: before ?? '' } : {}),
  };
}
