import {
  type ListEntry,
  type RecordList,
  type RecordLists,
  type Shard,
  type Subject,
  UnknownRecordLayoutError,
} from '@postern/elicitation';
import { type Database, FOREVER } from './database.ts';

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

/** SQLite takes 4 microseconds longer for a parameter alone. */
const LIMIT = 'LIMIT CAST(? AS INTEGER)';

const GET = 'SELECT value FROM records WHERE kind = ? AND id = ? AND ends_at > ?';
const PUT = `
  INSERT INTO records (kind, id, value, list, whose, rank, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (kind, id) DO UPDATE SET
    value = excluded.value, list = excluded.list, whose = excluded.whose, rank = excluded.rank,
    ends_at = excluded.ends_at
  WHERE value <> excluded.value OR ends_at <> excluded.ends_at
`;
const DELETE = 'DELETE FROM records WHERE kind = ? AND id = ? AND ends_at > ?';
const OF = `SELECT value FROM records WHERE kind = ? AND whose = ? AND rank > ? AND ends_at > ? ORDER BY rank, seq ${LIMIT}`;
const NEWEST_OF = `
  SELECT value FROM records WHERE kind = ? AND whose = ? AND rank > ? AND rank <= ? AND ends_at > ?
  ORDER BY rank DESC, seq DESC ${LIMIT} OFFSET ?
`;
const DELETE_OF = `
  DELETE FROM records WHERE seq IN (SELECT seq FROM records WHERE kind = ? AND whose = ? AND rank <= ? LIMIT ${MOST})
`;
const SUM_OF =
  'SELECT count(*) AS count, total(rank) AS total FROM records WHERE kind = ? AND whose = ? AND ends_at > ?';
const DUE = `SELECT value FROM records WHERE list = ? AND rank <= ? AND ends_at > ? ORDER BY rank ${LIMIT}`;
const PAGE = `
  SELECT id, rank FROM records WHERE list = ? AND (rank, id) < (?, ?) AND ends_at > ? ORDER BY rank DESC, id DESC ${LIMIT}
`;
const AFTER = `SELECT id, value FROM records WHERE kind = ? AND id > ? AND ends_at > ? ORDER BY id ${LIMIT}`;
const REWRITE = 'UPDATE records SET value = ? WHERE kind = ? AND id = ?';
const SIZE = 'SELECT count(*) AS size FROM records WHERE list = ? AND ends_at > ?';

/** A clock that was ahead by less changes nothing: a pause lasts longer by as much. */
const CLOCK_STEP_MS = 60_000;

/** A lease or a pause, which protects nothing: it may end early. */
export interface Span {
  readonly from: number;
  readonly endsAt: number;
}

/** One that begins in the future was noted while the clock was ahead, and would last as long as that. */
export const isRunning = (span: Span | undefined, now: number): boolean =>
  span !== undefined && now < span.endsAt && span.from <= now + CLOCK_STEP_MS;

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
    // Callers may pass fractions of a millisecond.
    const place = [list, whose, Math.ceil(rank), Math.ceil(Math.min(endsAt, FOREVER))];
    this.#database.run(PUT, this.#kind, id, JSON.stringify(row), ...place);
  }

  /** @returns whether there was such a record */
  delete(id: string): boolean {
    return this.#database.run(DELETE, this.#kind, id, this.#database.now()) > 0;
  }

  /** Lowest rank first. @param p.after returns only records of a higher rank */
  of(whose: string, { after = -1, limit = MOST }: { readonly after?: number; readonly limit?: number } = {}): Row[] {
    return this.#rows(OF, this.#kind, whose, after, this.#database.now(), Math.min(limit, MOST));
  }

  /** Highest rank first, above `after` and up to `upTo`. */
  newestOf(
    whose: string,
    { after = -1, upTo = FOREVER, skip = 0, limit }: { after?: number; upTo?: number; skip?: number; limit: number },
  ): Row[] {
    return this.#rows(NEWEST_OF, this.#kind, whose, after, upTo, this.#database.now(), Math.min(limit, MOST), skip);
  }

  /** In the order of ids. */
  page(after: string, limit: number): { readonly id: string; readonly row: Row }[] {
    const found = this.#database.all(AFTER, this.#kind, after, this.#database.now(), Math.min(limit, MOST));
    return found.map(({ id, value }) => ({ id: String(id), row: parsed<Row>(value) }));
  }

  /** Changes the value of a record, and not its place. */
  rewrite(id: string, row: Row): void {
    this.#database.run(REWRITE, JSON.stringify(row), this.#kind, id);
  }

  /** Deletes the records up to this rank. */
  deleteOf(whose: string, upTo = FOREVER): void {
    this.#database.run(DELETE_OF, this.#kind, whose, upTo);
  }

  /** Number of records, and sum of their ranks. */
  sumOf(whose: string): { readonly count: number; readonly total: number } {
    const [row] = this.#database.all(SUM_OF, this.#kind, whose, this.#database.now());
    return { count: Number(row?.['count']), total: Number(row?.['total']) };
  }

  /** Records of a list up to this rank, lowest first. */
  due(list: string, limit: number, upTo = this.#database.now()): Row[] {
    return this.#rows(DUE, list, upTo, this.#database.now(), Math.min(limit, MOST));
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

/** One text for a list of texts. JSON keeps any two lists apart. */
export const joined = (...texts: (string | undefined)[]): string => JSON.stringify(texts);

/** `Place.whose` of a user. */
export const keyOf = ({ issuer, subject }: Subject, ...further: (string | undefined)[]): string =>
  joined(issuer, subject, ...further);
