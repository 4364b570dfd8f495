import {
  type ListEntry,
  type RecordList,
  type RecordLists,
  type Shard,
  type Subject,
  UnknownRecordLayoutError,
} from '@postern/elicitation';
import type { Database } from './database.ts';

/** Where queries find a record, and how long it is kept. */
export interface Place {
  /** Epoch milliseconds. Default: until it is removed. */
  readonly endsAt?: number | undefined;
  /** The user, MCP server or shard whose records are read together. */
  readonly whose?: string | undefined;
  /** A list of operators or a queue, unique among all kinds. */
  readonly list?: string | undefined;
  /** Order within `whose` and `list`, or what adds up. Default 0. */
  readonly rank?: number | undefined;
}

/** No query returns more records. */
const MOST = 10_000;
const FOREVER = Number.MAX_SAFE_INTEGER;

/** SQLite takes 4 microseconds longer for a parameter alone. */
const LIMIT = 'LIMIT CAST(? AS INTEGER)';

const GET = 'SELECT value FROM records WHERE kind = ? AND id = ? AND ends_at > ?';
const PUT = `
  INSERT INTO records (kind, id, value, list, whose, rank, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (kind, id) DO UPDATE SET
    value = excluded.value, list = excluded.list, whose = excluded.whose, rank = excluded.rank, ends_at = excluded.ends_at
  WHERE value <> excluded.value
`;
const DELETE = 'DELETE FROM records WHERE kind = ? AND id = ? RETURNING ends_at > ? AS was_kept';
const OF = `SELECT value FROM records WHERE kind = ? AND whose = ? AND rank > ? AND ends_at > ? ORDER BY rank, seq ${LIMIT}`;
const NEWEST_OF = `
  SELECT value FROM records WHERE kind = ? AND whose = ? AND ends_at > ? ORDER BY rank DESC, seq DESC ${LIMIT} OFFSET ?
`;
const DELETE_OF = `
  DELETE FROM records WHERE seq IN (SELECT seq FROM records WHERE kind = ? AND whose = ? AND rank <= ? LIMIT ${MOST})
`;
const SUM_OF = `
  SELECT count(*) AS count, total(rank) AS total, min(ends_at) AS firstEnd,
    count(*) FILTER (WHERE ends_at = ${FOREVER}) AS lastingCount, total(rank) FILTER (WHERE ends_at = ${FOREVER}) AS lastingTotal
  FROM records WHERE kind = ? AND whose = ? AND ends_at > ?
`;
const DUE = `SELECT value FROM records WHERE list = ? AND rank <= ? AND ends_at > ? ORDER BY rank ${LIMIT}`;
const PAGE = `
  SELECT id, rank FROM records WHERE list = ? AND (rank, id) < (?, ?) AND ends_at > ? ORDER BY rank DESC, id DESC ${LIMIT}
`;
const OLDEST = `SELECT value FROM records WHERE kind = ? ORDER BY seq ${LIMIT}`;
const SIZE = 'SELECT count(*) AS size FROM records WHERE list = ? AND ends_at > ?';

/** Records of one kind. A record that has ended is never returned, whether or not it is deleted. */
export class Records<Row> {
  readonly #database: Database;
  readonly #kind: string;
  readonly #placeOf: (row: Row) => Place;

  constructor(database: Database, kind: string, placeOf: (row: Row) => Place = () => ({})) {
    this.#database = database;
    this.#kind = kind;
    this.#placeOf = placeOf;
  }

  get(id: string): Row | undefined {
    return this.#rows(GET, this.#kind, id, this.#database.now())[0];
  }

  /** Replaces the record of this id; it keeps its order among records of equal rank. Its place follows from its value. */
  put(id: string, row: Row): void {
    const { list = null, whose = null, rank = 0, endsAt = FOREVER } = this.#placeOf(row);
    const place = [list, whose, rank, Math.min(endsAt, FOREVER)];
    this.#database.run(PUT, this.#kind, id, JSON.stringify(row), ...place);
  }

  /** @returns whether there was such a record */
  delete(id: string): boolean {
    return this.#database.all(DELETE, this.#kind, id, this.#database.now())[0]?.['was_kept'] === 1;
  }

  /** Lowest rank first. @param p.after returns only records of a higher rank */
  of(whose: string, { after = -1, limit = MOST }: { readonly after?: number; readonly limit?: number } = {}): Row[] {
    return this.#rows(OF, this.#kind, whose, after, this.#database.now(), Math.min(limit, MOST));
  }

  /** Highest rank first. */
  newestOf(whose: string, { skip = 0, limit }: { readonly skip?: number; readonly limit: number }): Row[] {
    return this.#rows(NEWEST_OF, this.#kind, whose, this.#database.now(), Math.min(limit, MOST), skip);
  }

  /** Deletes the records up to this rank. */
  deleteOf(whose: string, upTo = FOREVER): void {
    this.#database.run(DELETE_OF, this.#kind, whose, upTo);
  }

  /** Number and sum of ranks, of all and of those without an end, and the first end. */
  sumOf(whose: string) {
    const [row = {}] = this.#database.all(SUM_OF, this.#kind, whose, this.#database.now());
    const of = (name: string) => Number(row[name] ?? FOREVER);
    const firstEnd = of('firstEnd') === FOREVER ? undefined : of('firstEnd');
    const lasting = { count: of('lastingCount'), total: of('lastingTotal') };
    return { count: of('count'), total: of('total'), lasting, firstEnd };
  }

  /** Records of a list up to this rank, lowest first. */
  due(list: string, limit: number, upTo = this.#database.now()): Row[] {
    return this.#rows(DUE, list, upTo, this.#database.now(), Math.min(limit, MOST));
  }

  /** All records, in the order of their first commit. @internal */
  oldest(): Row[] {
    return this.#rows(OLDEST, this.#kind, MOST);
  }

  #rows(sql: string, ...values: (string | number)[]): Row[] {
    return this.#database.all(sql, ...values).map(({ value }) => parsed<Row>(value));
  }
}

/** The only place that reads a stored value. The layout of the file says that this release has written it. */
function parsed<Row>(value: unknown): Row {
  try {
    return JSON.parse(String(value)) as Row;
  } catch {
    // Omits the parser's error, which could quote the stored value.
    throw new UnknownRecordLayoutError();
  }
}

export class SqliteRecordLists implements RecordLists {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async page({ list, shard, before, limit }: Parameters<RecordLists['page']>[0]): Promise<readonly ListEntry[]> {
    const from = before === undefined ? ([FOREVER, ''] as const) : ([before.at, before.id] as const);
    const rows = this.#database.all(PAGE, listOf(list, shard), ...from, this.#database.now(), Math.min(limit, MOST));
    return rows.map(({ id, rank }) => ({ id: String(id), at: Number(rank) }));
  }

  async size(list: RecordList, shard: Shard): Promise<number> {
    return Number(this.#database.all(SIZE, listOf(list, shard), this.#database.now())[0]?.['size']);
  }
}

/** `Place.list` of a list or queue of a shard. */
export const listOf = (list: string, shard: Shard): string => `${list} ${shard}`;

/** `Place.whose` of a user. JSON keeps any two lists of texts apart. */
export const keyOf = ({ issuer, subject }: Subject, ...further: (string | undefined)[]): string =>
  JSON.stringify([issuer, subject, ...further]);

/** Orders records of a user by their creation. */
export const oldestFirst =
  <Row extends { readonly createdAt: number }>(idOf: (row: Row) => string) =>
  (a: Row, b: Row): number =>
    a.createdAt - b.createdAt || (idOf(a) < idOf(b) ? -1 : 1);
