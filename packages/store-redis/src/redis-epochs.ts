import { SHARDS, type Shard } from '@postern/elicitation';
import { CARRIED_KEPT } from './redis-events.ts';
import { RedisPort } from './redis-link.ts';
import { listOf, textOf } from './script.ts';

/** The deployment of a shard's data, and when that data began. Stored as `<deployment> <epoch>`. */
export interface ShardEpoch {
  readonly deployment: string;
  /** Start of the deployment, or the time at which an operator accepted the loss of the shard's data, in ms. */
  readonly epoch: number;
}

/**
 * Follows the epoch of the first shard until all shards have theirs. If a gateway dies meanwhile, the next one completes the
 * work.
 */
const FOUNDING = ' founding';

const shardEpochText = ({ deployment, epoch }: ShardEpoch) => `${deployment} ${epoch}`;
const foundingText = (of: ShardEpoch) => `${shardEpochText(of)}${FOUNDING}`;

/** A text that this release cannot read belongs to an unknown deployment. */
function parseShardEpoch(text: string): ShardEpoch & { readonly isFounding: boolean } {
  const [, deployment = 'unknown', epoch = '0'] = /^(dp_\S+) (\d+)\b/.exec(text) ?? [];
  return { deployment, epoch: Number(epoch), isFounding: text.endsWith(FOUNDING) };
}

export interface InspectedShard {
  /** Undefined if the shard has no epoch. */
  readonly epoch: (ShardEpoch & { readonly isFounding: boolean }) | undefined;
  /** Present if the requested event is lost: the id of the newest earlier event, or '' if there is none. */
  readonly lostAfter?: string;
}

/** The epochs of all shards, which identify a Redis. */
export class RedisEpochs extends RedisPort {
  /**
   * Reads every shard in one round. Omits shards that do not answer.
   * @param events by shard, the id of an event that must still exist
   */
  async inspect(events: ReadonlyMap<Shard, string> = new Map()): Promise<ReadonlyMap<Shard, InspectedShard>> {
    const looks = SHARDS.map(async shard => {
      const keys = { epoch: this.keys.epoch(shard), events: this.keys.events(shard) };
      const args = { eventId: events.get(shard), carriedKept: CARRIED_KEPT };
      const reply = await this.link.probe('inspectShard', keys, args);
      return [shard, inspectedIn(reply)] as const;
    });
    const settled = await Promise.allSettled(looks);
    return new Map(settled.flatMap(look => (look.status === 'fulfilled' ? [look.value] : [])));
  }

  /**
   * Writes the first epoch of every shard. If several gateways start together, the first to write the first shard decides. The
   * others complete its work, and so does a gateway that starts after it died.
   * @returns the decided epoch
   * @throws StoreUnavailableError
   */
  async found(proposed: ShardEpoch): Promise<ShardEpoch> {
    const [first, ...others] = SHARDS.map(this.keys.epoch);
    if (first === undefined) throw new TypeError('There are no shards.');
    await this.#put(first, foundingText(proposed), 'NX');
    const { deployment, epoch } = parseShardEpoch(textOf(await this.link.call('get', first)));
    const decided = shardEpochText({ deployment, epoch });
    await Promise.all(others.map(key => this.#put(key, decided, 'NX')));
    await this.#put(first, decided);
    return { deployment, epoch };
  }

  /**
   * Starts a new epoch in the given shards, replacing an existing one only if asked to.
   * @throws StoreUnavailableError
   */
  async begin(
    epoch: ShardEpoch,
    shards: readonly Shard[],
    { replaces }: { readonly replaces: boolean },
  ): Promise<void> {
    const text = shardEpochText(epoch);
    await Promise.all(shards.map(shard => this.#put(this.keys.epoch(shard), text, ...(replaces ? [] : ['NX']))));
  }

  #put(key: string, text: string, ...options: readonly string[]): Promise<unknown> {
    return this.link.callFor('putEpoch', 'set', key, text, ...options);
  }
}

function inspectedIn(reply: unknown): InspectedShard {
  const [epoch, result, before] = listOf(reply).map(textOf);
  return {
    epoch: epoch === undefined || epoch === '' ? undefined : parseShardEpoch(epoch),
    ...(result === 'lost' ? { lostAfter: before ?? '' } : {}),
  };
}
