import type { Database } from './database.ts';
import { Records } from './records.ts';

const PER_MS = 1_000;

/** A place in a log, as `<milliseconds>-<number>`. */
export const positionOf = (rank: number): string => `${Math.floor(rank / PER_MS)}-${rank % PER_MS}`;

export function rankOf(position: string): number {
  const [time = 0, number = 0] = position.split('-').map(part => Number.parseInt(part, 10));
  return rankAt(time) + Math.min(number, PER_MS - 1);
}

/** The lowest rank of a millisecond. */
export const rankAt = (time: number): number => Math.max(0, time) * PER_MS;

/** `previous` is the rank before: what is dropped up to the first entry that is kept. */
export interface Entry<Row> {
  readonly row: Row;
  readonly of: string;
  readonly rank: number;
  readonly previous: number;
  readonly endsAt?: number;
}

/** The last rank of a log, and how many entries it ever had. */
interface Head {
  readonly last: number;
  readonly count: number;
}
const EMPTY: Head = { last: 0, count: 0 };

/**
 * Logs of one kind, each of which has its entries in the order of their commits. A rank is the time of the entry, or one more than the rank
 * before it: it grows even if the clock does not.
 */
export class Log<Row> {
  readonly #database: Database;
  readonly #entries: Records<Entry<Row>>;
  readonly #heads: Records<Head>;

  constructor(database: Database, kind: string) {
    this.#database = database;
    this.#entries = new Records(database, kind, ({ of, rank, endsAt }) => ({ whose: of, rank, endsAt }));
    this.#heads = new Records(database, `${kind} head`);
  }

  last(of: string): number {
    return this.#head(of).last;
  }

  /** The rank up to which entries are dropped. */
  dropped(of: string): number {
    return this.#entries.of(of, { limit: 1 })[0]?.previous ?? this.last(of);
  }

  /** Called within a commit. @param p.after another rank that it exceeds */
  append(
    of: string,
    make: (rank: number) => Row,
    { endsAt, after = 0 }: { readonly endsAt?: number; readonly after?: number } = {},
  ): void {
    const { last: previous, count } = this.#head(of);
    const rank = Math.max(rankAt(this.#database.now()), previous + 1, after + 1);
    this.#heads.put(of, { last: rank, count: count + 1 });
    const row = { row: make(rank), of, rank, previous };
    this.#entries.put(idOf(of, count + 1), endsAt === undefined ? row : { ...row, endsAt });
  }

  /** Called within a commit: drops the oldest entries of more than this number, and none above this rank. */
  keep(of: string, most: number, upTo = Infinity): void {
    const beyond = this.#entries.get(idOf(of, this.#head(of).count - most));
    if (beyond !== undefined) this.#entries.deleteOf(of, Math.min(beyond.rank, upTo));
  }

  /** Oldest first. */
  of(of: string, p: { readonly after: number; readonly limit: number }): readonly Row[] {
    return this.#entries.of(of, p).map(({ row }) => row);
  }

  /** Newest first, above `after` and up to `upTo`. */
  newestOf(of: string, p: { readonly after?: number; readonly upTo?: number; readonly limit: number }): readonly Row[] {
    return this.#entries.newestOf(of, p).map(({ row }) => row);
  }

  #head(of: string): Head {
    return this.#heads.get(of) ?? EMPTY;
  }
}

const idOf = (of: string, nth: number) => `${nth} ${of}`;
