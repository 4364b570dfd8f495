import { chmodSync, closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { type Clock, StoreUnavailableError, Waiters } from '@postern/elicitation';

/** Layout of the file, in `PRAGMA user_version`. A change of the tables, or of what a release reads in a record, is a new layout. */
const LAYOUT = 1;
/** "Post" in ASCII, in `PRAGMA application_id`. */
const APPLICATION_ID = 0x506f7374;
/** A call blocks the event loop, so it waits no longer than this for the lock of another process. */
const BUSY_MS = 20;
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

/** The file cannot be opened. Its contents are unchanged. @internal */
export class UnusableFileError extends Error {
  override name = 'UnusableFileError';
  readonly code: 'file_in_use' | 'unknown_file_layout' | 'foreign_file' | 'damaged_file';
  constructor(code: UnusableFileError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html). */
const [BUSY, CORRUPT, NOT_A_DATABASE] = [5, 11, 26];
/** Also: locked, out of memory, read-only, I/O error, full, cannot open. */
const UNAVAILABLE: readonly number[] = [BUSY, 6, 7, 8, 10, CORRUPT, 13, 14, NOT_A_DATABASE];

/** The primary result code of an error of SQLite. Extended codes contain it in their lowest byte. */
const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;

interface CommitInProgress {
  /** Ids whose waiters it wakes. */
  readonly woken: Set<string>;
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

  /** @throws UnusableFileError, or an error of SQLite */
  constructor(path: string, now: Clock) {
    this.now = now;
    this.#file = new DatabaseSync(path, { timeout: BUSY_MS });
    try {
      // Must come before anything else that reads a new file. On any other file it could be a change.
      if (statSync(path, { throwIfNoEntry: false })?.size === 0) this.#file.exec('PRAGMA auto_vacuum = FULL');
      // The kernel releases the lock when the process ends, however it ends.
      this.#file.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
      const isNew = this.#assertOurs(path);
      this.#file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
      if (isNew) this.#file.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
      else this.#assertWhole();
    } catch (error) {
      this.#file.close();
      if (codeOf(error) !== BUSY) throw error;
      throw new UnusableFileError('file_in_use', `Another process uses ${path}. Stop it, or choose another file.`);
    }
  }

  /** All SQL text that was prepared. @internal */
  get statements(): readonly string[] {
    return [...this.#statements.keys()];
  }

  /**
   * Runs the work as one commit: all its writes or none. A commit within a commit is a part of the outer one, and fails it by any
   * exception, even one that the outer work catches.
   * @throws StoreUnavailableError if SQLite cannot write
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
    // The write lock before the first read: what the work checks is still true when it writes.
    this.run('BEGIN IMMEDIATE');
    const commit: CommitInProgress = { woken: new Set() };
    this.#commit = commit;
    let result: T;
    try {
      result = work();
      if (result instanceof Promise) throw new TypeError('A commit awaits nothing.');
      if (commit.failure !== undefined) throw commit.failure.error;
      this.run(DELETE_ENDED, this.now());
      this.run('COMMIT');
    } catch (error) {
      // SQLite itself rolls back after some errors.
      if (this.#file.isTransaction) this.#file.exec('ROLLBACK');
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

  /** @returns the number of changed records */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.#attempt(() => Number(this.#prepared(sql).run(...values).changes));
  }

  [Symbol.dispose](): void {
    if (this.#file.isOpen) this.#file.close();
  }

  #attempt<T>(call: () => T): T {
    try {
      if (!this.#file.isOpen) throw new Error('The store is closed.');
      return call();
    } catch (error) {
      if (this.#file.isOpen && !UNAVAILABLE.includes(codeOf(error) ?? 0)) throw error;
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

  /** Reads a pragma that is a number. */
  #pragma(name: string): number {
    return Number(this.#file.prepare(`PRAGMA ${name}`).get()?.[name]);
  }

  /** @returns whether the file is empty @throws UnusableFileError */
  #assertOurs(path: string): boolean {
    const [application, layout] = [this.#pragma('application_id'), this.#pragma('user_version')];
    const isEmpty = this.#file.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
    if (isEmpty && application === 0 && layout === 0) return true;
    if (application !== APPLICATION_ID)
      throw new UnusableFileError('foreign_file', `${path} is an SQLite file of another program. Choose another file.`);
    if (layout !== LAYOUT) {
      const text = `${path} has layout ${layout}, and this release reads layout ${LAYOUT}.`;
      throw new UnusableFileError(
        'unknown_file_layout',
        `${text} Start the release that wrote it, or choose another file.`,
      );
    }
    return false;
  }

  /** Also finds damage that a query would meet only later. */
  #assertWhole(): void {
    const [found] = this.#file.prepare('PRAGMA quick_check(1)').all();
    if (found?.['quick_check'] !== 'ok') throw Object.assign(new Error('damaged'), { errcode: CORRUPT });
  }
}

/**
 * Opens a file, which only its owner can read, or `:memory:`. A damaged file is renamed, so that the next call begins an empty one.
 * @throws UnusableFileError
 */
export function openDatabase(path: string, now: Clock): Database {
  if (path !== ':memory:') createPrivateFile(path);
  try {
    return new Database(path, now);
  } catch (error) {
    if (![CORRUPT, NOT_A_DATABASE].includes(codeOf(error) ?? 0)) throw error;
    const text = `${path} is damaged and was renamed to ${setAside(path)}.`;
    throw new UnusableFileError(
      'damaged_file',
      `${text} Restore a backup, or start again to begin with an empty file.`,
    );
  }
}

/**
 * SQLite gives its other files the mode of this one. Never opens an existing file: closing any descriptor of a file releases the locks
 * of the whole process on it (POSIX).
 */
function createPrivateFile(path: string): void {
  if (existsSync(path)) chmodSync(path, 0o600);
  else closeSync(openSync(path, 'a', 0o600));
}

/** The database last: until it is renamed, the next start finds it damaged. Its log would be taken for that of a new file. */
function setAside(path: string): string {
  let nth = 1;
  while (existsSync(`${path}.damaged-${nth}`)) nth += 1;
  const aside = `${path}.damaged-${nth}`;
  for (const suffix of ['-wal', '-shm', '-journal', ''])
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}
