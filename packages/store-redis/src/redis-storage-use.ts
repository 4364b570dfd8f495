import { SHARDS, type StorageUse, type StorageUseReader } from '@postern/elicitation';
import { commands } from './commands.ts';
import { RedisPort } from './redis-link.ts';
import { listOf, numberOf } from './script.ts';

const SHARDS_AT_ONCE = 16;
const OWNERS_AT_ONCE = commands.readLedgers.keys.count;

/** Reads the ledgers that `commands/storage-ledger.lua` writes. */
export class RedisStorageUse extends RedisPort implements StorageUseReader {
  /** One call per shard and 16 owners. */
  async read(owners: readonly string[]): Promise<readonly StorageUse[]> {
    const found: StorageUse[] = [];
    // One group after another, to leave room for other commands on the connection.
    for (let at = 0; at < owners.length; at += OWNERS_AT_ONCE)
      found.push(...(await this.#readGroup(owners.slice(at, at + OWNERS_AT_ONCE))));
    return found;
  }

  async #readGroup(group: readonly string[]): Promise<readonly StorageUse[]> {
    const places = Array.from({ length: OWNERS_AT_ONCE }, (_, at) => group[at]);
    const replies: (readonly unknown[])[] = [];
    // A part of the shards at a time, so that the event loop turns to the requests of users and MCP servers in between.
    for (let at = 0; at < SHARDS.length; at += SHARDS_AT_ONCE)
      replies.push(
        ...(await Promise.all(
          SHARDS.slice(at, at + SHARDS_AT_ONCE).map(async shard => {
            const ledgers = places.map(id => (id === undefined ? this.keys.none(shard) : this.keys.ledger(shard, id)));
            return listOf(await this.repeatable('readLedgers', { ledgers }, {}));
          }),
        )),
      );
    return group.map((owner, at) => {
      const shards = replies.map(reply => {
        const [records = 0, bytes = 0, ...lasting] = listOf(reply[at]).map(numberOf);
        return { records, bytes, lasting: { records: lasting[0] ?? 0, bytes: lasting[1] ?? 0 } };
      });
      const sum = (of: 'records' | 'bytes') => shards.reduce((total, shard) => total + shard[of], 0);
      return { owner, records: sum('records'), bytes: sum('bytes'), shards };
    });
  }
}
