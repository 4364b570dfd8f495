import type { Fault } from '../fault.ts';

const file = 'packages/store-sqlite/src/database.ts';
const breaks = 'packages/store-sqlite/README.md';
const foundBy = ['packages/store-sqlite/src/database.test.ts'];

export const sqliteFaults: readonly Fault[] = [
  {
    name: 'SQLite: a commit that fails half way is kept',
    ...{ breaks, file, foundBy },
    original: "this.#file.exec('ROLLBACK');",
    replacement: "this.#file.exec('COMMIT');",
    only: 'writes everything',
  },
  {
    name: 'SQLite: a failed part of a commit is kept with the rest',
    ...{ breaks, file, foundBy },
    original: '      if (commit.failure !== undefined) throw commit.failure.error;\n',
    replacement: '',
    only: 'fails with a commit within it',
  },
  {
    name: 'SQLite: waiters wake before the commit',
    ...{ breaks, file, foundBy },
    original: 'this.#commit.woken.add(id);',
    replacement: 'this.waiters.wake(id);',
    only: 'wakes after it is durable',
  },
  {
    name: 'SQLite: a full disk is an unknown error',
    ...{ breaks, file, foundBy },
    original: '10, CORRUPT, 13, 14',
    replacement: '10, CORRUPT, 14',
    only: 'without space',
  },
  {
    name: 'SQLite: a commit returns before it is synced',
    ...{ breaks, file, foundBy },
    original: 'PRAGMA synchronous = FULL;',
    replacement: 'PRAGMA synchronous = NORMAL;',
    only: 'is synced',
  },
  {
    name: 'SQLite: the file never shrinks',
    ...{ breaks, file, foundBy },
    original: 'PRAGMA auto_vacuum = FULL',
    replacement: 'PRAGMA auto_vacuum = NONE',
    only: 'stays small',
  },
  {
    name: 'SQLite: ended records stay in the file',
    ...{ breaks, file, foundBy },
    original: '      this.run(DELETE_ENDED, this.now());\n',
    replacement: '',
    only: 'stays small',
  },
  {
    name: 'SQLite: ended records are found until they are deleted',
    ...{ breaks, foundBy },
    file: 'packages/store-sqlite/src/records.ts',
    original: 'kind = ? AND id = ? AND ends_at > ?',
    replacement: 'kind = ? AND id = ? AND ? > 0',
    only: 'deletes few ended records',
  },
  {
    name: 'SQLite: two processes use one file',
    ...{ breaks, file, foundBy },
    original: 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT',
    replacement: 'BEGIN EXCLUSIVE; COMMIT',
    only: 'is refused to a second process',
  },
  {
    name: 'SQLite: other users can read a new file',
    ...{ breaks, file, foundBy },
    original: "openSync(path, 'a', 0o600)",
    replacement: "openSync(path, 'a', 0o644)",
    only: 'is readable by its owner only',
  },
  {
    name: 'SQLite: other users can read an existing file',
    ...{ breaks, file, foundBy },
    original: 'chmodSync(path, 0o600);',
    replacement: 'chmodSync(path, 0o644);',
    only: 'is readable by its owner only',
  },
  {
    name: 'SQLite: a file of an unknown layout is opened',
    ...{ breaks, file, foundBy },
    original: 'if (layout !== LAYOUT) {',
    replacement: 'if (layout < LAYOUT) {',
    only: 'with another layout',
  },
  {
    name: 'SQLite: damage is found only by the query that meets it',
    ...{ breaks, file, foundBy },
    original: '      else this.#assertWhole();\n',
    replacement: '',
    only: 'with a damaged',
  },
  {
    name: 'SQLite: a damaged file replaces an earlier one',
    ...{ breaks, file, foundBy },
    original: '  while (existsSync(`${path}.damaged-${nth}`)) nth += 1;\n',
    replacement: '  if (nth > 1) nth += 1;\n',
    only: 'with a damaged',
  },
  {
    name: 'SQLite: the id of a browser session is in the file',
    ...{ breaks, foundBy },
    file: 'packages/store-sqlite/src/sqlite-browser-session-store.ts',
    original: 'const [shard, voucher, name] = [shardIn(id), voucherOf(session), digestOf(id)];',
    replacement: 'const [shard, voucher, name] = [shardIn(id), voucherOf(session), String(id)];',
    only: 'contains no id',
  },
  {
    name: 'SQLite: due records are found by reading all lists',
    ...{ breaks, file },
    original: 'ON records (list, rank, id)',
    replacement: 'ON records (rank, list, id)',
    foundBy: ['packages/store-sqlite/src/sqlite-stores.test.ts'],
    only: 'SQLite in memory',
  },
];
