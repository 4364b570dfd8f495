import {
  compareListEntries,
  type ListEntry,
  type RecordList,
  type RecordLists,
  type Shard,
} from '@postern/elicitation';
import { RedisPort } from './redis-link.ts';
import { listOf, numberOf, textOf } from './script.ts';

/** The sorted sets of each shard. Their entries are written by the commits of their records. */
export class RedisRecordLists extends RedisPort implements RecordLists {
  async page({ list, shard, before, limit }: Parameters<RecordLists['page']>[0]): Promise<readonly ListEntry[]> {
    const key = this.#keyOf(list, shard);
    const found: ListEntry[] = [];
    // Entries of the same millisecond as `before` are read again, because a range of scores cannot start within one.
    for (let offset = 0; ; offset += limit) {
      const values = listOf(
        await this.link.call(
          ...[
            'zrange' as const,
            key,
            before?.at ?? '+inf',
            '-inf',
            'BYSCORE',
            'REV',
            'LIMIT',
            offset,
            limit,
            'WITHSCORES',
          ],
        ),
      );
      const entries = entriesIn(values);
      found.push(...entries.filter(entry => before === undefined || compareListEntries(before, entry) < 0));
      if (entries.length < limit || found.length >= limit) return found.slice(0, limit);
    }
  }

  async size(list: RecordList, shard: Shard): Promise<number> {
    return Number(await this.link.call('zcard', this.#keyOf(list, shard)));
  }

  #keyOf(list: RecordList, shard: Shard): string {
    switch (list) {
      case 'open':
        return this.keys.due(shard);
      case 'ended':
        return this.keys.ended(shard);
      case 'connections':
        return this.keys.connected(shard);
      case 'credentials':
        return this.keys.saved(shard);
      case 'revocations':
        return this.keys.dueRevocations(shard);
    }
  }
}

function entriesIn(values: readonly unknown[]): readonly ListEntry[] {
  return values.flatMap((value, at) => (at % 2 === 0 ? [{ id: textOf(value), at: numberOf(values[at + 1]) }] : []));
}
