import {
  compareListEntries,
  type ListEntry,
  type RecordList,
  type RecordLists,
  SHARDS,
  type Shard,
} from '@postern/elicitation';
import { fewAtOnce, giveWay } from './paced-reads.ts';

/** One page of a list. It may be short, even empty, while `next` is set: a page reads a limited number of records. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent at the end of the list. */
  readonly next?: string;
}

export interface PageRequest {
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** Thrown for a cursor that no page returned. */
export class InvalidCursorError extends Error {
  override name = 'InvalidCursorError';
}

const cursorOf = ({ at, id }: ListEntry): string => `${at}.${id}`;

function entryAt(cursor: string): ListEntry {
  const [, at = '', id = ''] = /^(\d{1,15})\.([A-Za-z0-9_-]{1,64})$/.exec(cursor) ?? [];
  if (id === '') throw new InvalidCursorError('The cursor is not one that a page returned.');
  return { at: Number(at), id };
}

/** Maximum number of records that a page reads. A filter that matches little continues on the next page. */
const READ_PER_PAGE = 1_000;
const READ_AT_ONCE = 100;
/** Entries that are read from each shard first. Later reads of a shard are larger. */
const FIRST = 4;
const SHARDS_AT_ONCE = 8;
const FURTHER = 64;

/**
 * Merges the list of all shards, newest first. Each shard is one range read, so a page costs one command per shard and one per record.
 * @param shards only these, if the list is about one person
 */
async function* mergeShards(
  lists: RecordLists,
  p: { readonly list: RecordList; readonly before: ListEntry | undefined; readonly shards?: readonly Shard[] },
): AsyncGenerator<ListEntry, void, undefined> {
  const { list, before, shards = SHARDS } = p;
  const sources = await fewAtOnce(
    shards,
    async shard => {
      const entries = [...(await lists.page({ list, shard, before, limit: FIRST }))];
      return { shard, entries, isOver: entries.length < FIRST };
    },
    SHARDS_AT_ONCE,
  );
  while (true) {
    let first: (typeof sources)[number] | undefined;
    for (const source of sources) {
      const [head] = source.entries;
      const [best] = first?.entries ?? [];
      if (head !== undefined && (best === undefined || compareListEntries(head, best) < 0)) first = source;
    }
    const entry = first?.entries.shift();
    if (first === undefined || entry === undefined) return;
    yield entry;
    if (first.entries.length > 0 || first.isOver) continue;
    const further = await lists.page({ list, shard: first.shard, before: entry, limit: FURTHER });
    first.entries.push(...further);
    first.isOver = further.length < FURTHER;
  }
}

/**
 * Returns a page of the records that match.
 * @param p.read returns undefined for a record that is gone or does not match
 */
export async function pageOf<Item>(
  lists: RecordLists,
  p: PageRequest & {
    readonly list: RecordList;
    readonly shards?: readonly Shard[];
    readonly read: (entry: ListEntry) => Promise<Item | undefined>;
  },
): Promise<Page<Item>> {
  const before = p.cursor === undefined ? undefined : entryAt(p.cursor);
  const items: Item[] = [];
  let read = 0;
  let batch: ListEntry[] = [];

  /** Returns the last entry of the page, once it is full. */
  async function readBatch(): Promise<ListEntry | undefined> {
    if (read > 0) await giveWay();
    const found = await fewAtOnce(batch, p.read);
    for (const [at, item] of found.entries()) {
      if (item === undefined) continue;
      items.push(item);
      if (items.length === p.limit) return batch[at];
    }
    read += batch.length;
    const last = batch.at(-1);
    batch = [];
    return read >= READ_PER_PAGE ? last : undefined;
  }

  for await (const entry of mergeShards(lists, { ...p, before })) {
    batch.push(entry);
    if (batch.length < Math.min(READ_AT_ONCE, p.limit)) continue;
    const last = await readBatch();
    if (last !== undefined) return { items, next: cursorOf(last) };
  }
  const last = await readBatch();
  return last !== undefined && items.length === p.limit ? { items, next: cursorOf(last) } : { items };
}
