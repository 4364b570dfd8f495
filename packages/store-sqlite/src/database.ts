import { randomInt } from 'node:crypto';
import { chmodSync, closeSync, openSync, readSync, statSync, unlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { type Clock, StoreUnavailableError, Waiters } from '@postern/elicitation';

/** Layout of the file, in `PRAGMA user_version`. A change of the tables, or of what a release reads in a record, is a new layout. */
const LAYOUT = 1;
/** "Post" in ASCII, in `PRAGMA application_id`. */
const APPLICATION_ID = 0x506f7374;
/** A call blocks the event loop, so it waits no longer than this for the lock of another process. */
const BUSY_MS = 20;
/** All attempts together may wait longer than `BUSY_MS`: a gateway that opens its file serves nobody yet. */
const OPENING_ATTEMPTS = 8;
/** Time for a process that has created the file to write its first page, on a busy machine. */
const CREATING_MS = 2_000;
/** `ends_at` of a record that stays until it is removed. */
export const FOREVER = Number.MAX_SAFE_INTEGER;
/** Records that have ended are deleted by later commits, at most this many in each. A commit writes fewer. */
const DELETED_AT_ONCE = 32;

/**
 * All records of all stores. `rank` orders the records of one `list` or of one `whose`, and adds up for a sum.
 * `full`: a commit that frees pages also shrinks the file. It costs no more than the free list that it replaces.
 */
const SCHEMA = `
  CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    value TEXT NOT NULL,
    list TEXT,
    whose TEXT,
    rank INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX by_id ON records (kind, id);
  CREATE INDEX by_list ON records (list, rank, id) WHERE list IS NOT NULL;
  CREATE INDEX by_whose ON records (kind, whose, rank) WHERE whose IS NOT NULL;
  CREATE INDEX by_end ON records (ends_at);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${LAYOUT};
`;

const DELETE_ENDED = `
  DELETE FROM records WHERE seq IN (SELECT seq FROM records WHERE ends_at <= ? ORDER BY ends_at LIMIT ${DELETED_AT_ONCE})
`;

/** The file cannot be opened. Its contents are unchanged. */
export class UnusableFileError extends Error {
  override name = 'UnusableFileError';
  readonly code: 'file_in_use' | 'unknown_file_layout' | 'foreign_file' | 'damaged_file';
  constructor(code: UnusableFileError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The refusal of a store whose file was removed or replaced. It lasts until the store is closed. */
const FILE_GONE = 'file_gone';
/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html). */
const [BUSY, CORRUPT, NOT_A_DATABASE] = [5, 11, 26];
/** Why SQLite does not answer. */
const FAULTS: ReadonlyMap<number, string> = new Map([
  [BUSY, 'file_locked'],
  [6, 'file_locked'],
  [7, 'out_of_memory'],
  [8, 'readonly'],
  [10, 'io_error'],
  [CORRUPT, 'damaged_file'],
  [13, 'disk_full'],
  [14, 'cannot_open'],
  [NOT_A_DATABASE, 'damaged_file'],
]);

/** The primary result code of an error of SQLite. Extended codes contain it in their lowest byte. */
const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;

interface CommitInProgress {
  /** Ids whose waiters it wakes. */
  readonly woken: Set<string>;
  hasWritten?: boolean;
  /** The first exception of a commit within it. */
  failure?: { readonly error: unknown };
}

/** One SQLite file, or `:memory:`. This process holds its lock from opening to closing, so it is the only reader and writer. */
export class Database implements Disposable {
  readonly now: Clock;
  /** Of this process, the only one that has the file. */
  readonly waiters = new Waiters();
  readonly #file: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #commit: CommitInProgress | undefined;
  /** Why the last write failed. */
  #refusal: string | undefined;
  onRefusals: ((refusals: readonly string[]) => void) | undefined;
  readonly #path: string;
  readonly #identity: string | undefined;

  /**
   * @param isCreated whether this process has created the file: another empty file has lost its records
   * @throws UnusableFileError, or an error of SQLite
   */
  constructor(path: string, now: Clock, isCreated: boolean) {
    // A fraction of a millisecond is no integer of SQLite.
    this.now = () => Math.floor(now());
    this.#path = resolve(path);
    // Before SQLite writes its first page.
    if (path !== ':memory:' && !isCreated && statSync(path).size === 0) throw damaged(path, 'empty');
    this.#file = new DatabaseSync(path, { timeout: BUSY_MS });
    try {
      // The kernel releases the lock when the process ends, however it ends.
      this.#file.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
      const isNew = this.#file.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
      // Before the log: without it, the first page tells whose the file is. VACUUM, because the file may have a page already.
      if (isNew) this.#file.exec(`PRAGMA auto_vacuum = FULL; VACUUM; BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
      else this.#assertReadable(path);
      this.#file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
      this.#identity = path === ':memory:' ? undefined : identityOf(path);
      if (this.#identity !== undefined) opened.add(this.#identity);
    } catch (error) {
      this.#file.close();
      throw codeOf(error) === BUSY ? inUse(path) : error;
    }
  }

  /** Why the last write failed, until one succeeds. */
  get refusals(): readonly string[] {
    return this.#refusal === undefined ? [] : [this.#refusal];
  }

  /** Checks that SQLite answers, and that the file is still in its place. @throws StoreUnavailableError */
  ping(): void {
    this.#assertInPlace();
    this.all('SELECT 1 FROM records WHERE seq = 1');
  }

  /**
   * Runs the work as one commit: all its writes or none. A commit within a commit is a part of the outer one, and fails it by any
   * exception, even one that the outer work catches.
   * @throws StoreUnavailableError if SQLite cannot write, or the file is gone
   */
  commit<T>(work: () => T): T {
    const outer = this.#commit;
    if (outer !== undefined) {
      try {
        return work();
      } catch (error) {
        outer.failure ??= { error };
        throw error;
      }
    }
    this.#assertInPlace();
    const commit: CommitInProgress = { woken: new Set() };
    let result: T;
    try {
      // The write lock before the first read: what the work checks is still true when it writes.
      this.#attempt(() => this.#prepared('BEGIN IMMEDIATE').run());
      this.#commit = commit;
      result = work();
      if (result instanceof Promise) throw new TypeError('A commit awaits nothing.');
      if (commit.failure !== undefined) throw commit.failure.error;
      this.run(DELETE_ENDED, this.now());
      this.#attempt(() => this.#prepared('COMMIT').run());
      if (commit.hasWritten === true) this.#note(undefined);
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#note(FAULTS.get(codeOf(error.cause) ?? 0));
      // SQLite itself rolls back after some errors.
      if (this.#file.isOpen && this.#file.isTransaction) this.#file.exec('ROLLBACK');
      throw error;
    } finally {
      this.#commit = undefined;
    }
    for (const id of commit.woken) this.waiters.wake(id);
    return result;
  }

  /** Called within a commit: wakes the waiters of the id when the commit is durable, and never if it fails. */
  wake(id: string): void {
    if (this.#commit === undefined) throw new TypeError('Only a commit wakes.');
    this.#commit.woken.add(id);
  }

  all(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.#attempt(() => this.#prepared(sql).all(...values));
  }

  /** Changes records. @returns how many */
  run(sql: string, ...values: SQLInputValue[]): number {
    const changes = Number(this.#attempt(() => this.#prepared(sql).run(...values)).changes);
    if (changes > 0 && this.#commit !== undefined) this.#commit.hasWritten = true;
    return changes;
  }

  [Symbol.dispose](): void {
    if (!this.#file.isOpen) return;
    this.#file.close();
    if (this.#identity !== undefined) opened.delete(this.#identity);
  }

  #note(refusal: string | undefined): void {
    if (refusal === this.#refusal || this.#refusal === FILE_GONE) return;
    this.#refusal = refusal;
    this.onRefusals?.(this.refusals);
  }

  /** Writes to a file that has lost its name end with this process. */
  #assertInPlace(): void {
    if (this.#identity === undefined || !this.#file.isOpen) return;
    try {
      if (this.#refusal !== FILE_GONE && identityOf(this.#path) === this.#identity) return;
    } catch (cause) {
      throw new StoreUnavailableError({ cause });
    }
    this.#note(FILE_GONE);
    throw new StoreUnavailableError({ cause: new Error(`${this.#path} was removed or replaced.`) });
  }

  #attempt<T>(call: () => T): T {
    try {
      if (!this.#file.isOpen) throw new Error('The store is closed.');
      return call();
    } catch (error) {
      if (this.#file.isOpen && !FAULTS.has(codeOf(error) ?? 0)) throw error;
      throw new StoreUnavailableError({ cause: error });
    }
  }

  #prepared(sql: string): StatementSync {
    const found = this.#statements.get(sql);
    if (found !== undefined) return found;
    const statement = this.#file.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** @throws UnusableFileError, or an error of SQLite */
  #assertReadable(path: string): void {
    const layout = this.#file.prepare('PRAGMA user_version').get()?.['user_version'];
    if (layout !== LAYOUT) {
      const text = `${path} has layout ${layout}, and this release reads layout ${LAYOUT}.`;
      throw new UnusableFileError(
        'unknown_file_layout',
        `${text} Start the release that wrote it, or choose another file.`,
      );
    }
    // Also finds damage that a query would meet only later.
    const [found] = this.#file.prepare('PRAGMA quick_check(1)').all();
    if (found?.['quick_check'] !== 'ok') throw Object.assign(new Error('damaged'), { errcode: CORRUPT });
  }
}

/**
 * Opens a file, which only its owner can read, or `:memory:`. Creates a missing one. A damaged file stays where it is, and so does one that
 * was emptied: a new one in its place would not know which keys were revoked. A file that is not known to be ours stays unchanged.
 * @throws UnusableFileError
 */
export function openDatabase(path: string, now: Clock): Database {
  const isCreated = path !== ':memory:' && makePrivate(path);
  try {
    return opening(path, now, isCreated);
  } catch (error) {
    // The next start would find an empty file that it has not created.
    if (isCreated && statSync(path, { throwIfNoEntry: false })?.size === 0) unlinkSync(path);
    throw [CORRUPT, NOT_A_DATABASE].includes(codeOf(error) ?? 0) ? damaged(path, 'damaged') : error;
  }
}

const damaged = (path: string, how: string) =>
  new UnusableFileError(
    'damaged_file',
    `${path} is ${how}. Move it and ${path}-wal away; then restore a backup, or start again without a file.`,
  );

/**
 * Of processes that open a file at the same moment, each may keep the others from the lock that needs to be alone, and all would give up.
 * So each leaves, and comes back after a while that only chance decides. An empty file may be one that another process has just created.
 */
function opening(path: string, now: Clock, isCreated: boolean): Database {
  const until = performance.now() + CREATING_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return new Database(path, now, isCreated);
    } catch (error) {
      const code = error instanceof UnusableFileError ? error.code : undefined;
      const mayPass =
        (code === 'file_in_use' && attempt < OPENING_ATTEMPTS) ||
        (code === 'damaged_file' && performance.now() < until);
      if (!mayPass) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, randomInt(BUSY_MS));
  }
}

/** Files that this process has open. */
const opened = new Set<string>();

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

const inUse = (path: string) =>
  new UnusableFileError('file_in_use', `Another process uses ${path}. Stop it, or choose another file.`);

/**
 * Creates the file, or changes the mode of one that is empty or ours. SQLite gives its other files the mode of this one.
 * @returns whether it has created the file
 * @throws UnusableFileError
 */
function makePrivate(path: string): boolean {
  try {
    closeSync(openSync(path, 'ax', 0o600));
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  // Closing any descriptor of a file releases the locks of the whole process on it (POSIX), so this must come before `isOurs`.
  if (opened.has(identityOf(path) ?? '')) throw inUse(path);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    // Through a link that leads to no file yet.
    closeSync(openSync(path, 'a', 0o600));
    return true;
  }
  if (!found.isFile() || (found.size > 0 && !isOurs(path)))
    throw new UnusableFileError('foreign_file', `${path} is not a file of Postern. Choose another file.`);
  chmodSync(path, 0o600);
  return false;
}

/** Type of a page of a table without further pages (https://www.sqlite.org/fileformat2.html). */
const LEAF = 0x0d;

/** Reads the first page without SQLite, which could change the file. */
function isOurs(path: string): boolean {
  const header = Buffer.alloc(105);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') return false;
  const applicationId = header.readUInt32BE(68);
  // No log, and no table in the schema. A full disk, or a process that was killed, may leave this of a new file.
  const isEmpty = header[18] === 1 && header[100] === LEAF && header.readUInt16BE(103) === 0;
  return applicationId === APPLICATION_ID || (applicationId === 0 && isEmpty);
}
