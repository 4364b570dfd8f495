import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreUnavailableError } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { allEvents, samples } from '@postern/testkit/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openDatabase, UnusableFileError } from './database.ts';
import { Records } from './records.ts';
import { createSqliteStores } from './sqlite-stores.ts';

const clock = createFakeClock();
let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'));
  path = join(folder, 'store.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => openDatabase(path, clock.now);
const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error instanceof UnusableFileError ? error.code : error;
  }
  return undefined;
};

describe('a commit', () => {
  test('writes everything or, after an exception, nothing', () => {
    using database = open();
    const records = new Records<string>(database, 'note');
    const failing = () =>
      database.commit(() => {
        records.put('one', 'written');
        database.commit(() => records.put('two', 'written'));
        throw new RangeError('half way');
      });
    expect(failing).toThrow(RangeError);
    expect([records.get('one'), records.get('two')]).toEqual([undefined, undefined]);
    database.commit(() => records.put('one', 'again'));
    expect(records.get('one')).toBe('again');
  });

  test('fails with a commit within it, even if the outer one catches the exception', () => {
    using database = open();
    const records = new Records<string>(database, 'note');
    const outer = () =>
      database.commit(() => {
        records.put('outer', 'written');
        expect(() =>
          database.commit(() => {
            records.put('inner', 'half');
            throw new RangeError('half way');
          }),
        ).toThrow(RangeError);
      });
    expect(outer).toThrow(RangeError);
    expect([records.get('outer'), records.get('inner')]).toEqual([undefined, undefined]);
  });

  test('awaits nothing, so that no other verb writes within it', () => {
    using database = open();
    const records = new Records<string>(database, 'note');
    expect(() => database.commit(async () => records.put('one', 'written'))).toThrow(TypeError);
    expect(records.get('one')).toBeUndefined();
  });

  test('wakes after it is durable, and not at all if it fails', () => {
    using database = open();
    const records = new Records<string>(database, 'note');
    const seen: string[] = [];
    const { elicitationId } = samples.ask(samples.somebody()).elicitation;
    using _listening = database.waiters.onCommit(() => void seen.push(`woken by ${records.get('one')}`));
    const write = (text: string, fails: boolean) =>
      database.commit(() => {
        database.wake(elicitationId);
        records.put('one', text);
        seen.push(`wrote ${text}`);
        if (fails) throw new RangeError('half way');
      });
    write('first', false);
    expect(() => write('second', true)).toThrow(RangeError);
    expect(seen).toEqual(['wrote first', 'woken by first', 'wrote second']);
  });

  test('without space it fails as unavailable, and the stores keep what was acknowledged', async () => {
    await using stores = createSqliteStores({ path, now: clock.now });
    const kept = await samples.created(stores.elicitations, samples.ask(samples.somebody()));
    const pages = Number(stores.database.all('PRAGMA page_count')[0]?.['page_count']);
    stores.database.all(`PRAGMA max_page_count = ${pages + 4}`);
    const acknowledged = [kept];
    const fill = async () => {
      for (;;) acknowledged.push(await samples.created(stores.elicitations, samples.ask(samples.somebody())));
    };
    await expect(fill()).rejects.toThrow(StoreUnavailableError);
    expect(stores.refusals()).toEqual(['disk_full']);
    await stores.ping();
    stores.database.commit(() => {});
    expect(stores.refusals()).toEqual(['disk_full']);
    for (const { elicitationId } of acknowledged) expect(await stores.elicitations.read(elicitationId)).toBeDefined();
    stores.database.all('PRAGMA max_page_count = 1000000');
    await samples.moved(stores.elicitations, kept, samples.cancel);
    expect(stores.refusals()).toEqual([]);
  });

  test('that only deletes clears the refusal of an earlier one', async () => {
    await using stores = createSqliteStores({ path, now: clock.now });
    const person = samples.somebody();
    await stores.mutes.mute(person, 'calendar');
    const pages = Number(stores.database.all('PRAGMA page_count')[0]?.['page_count']);
    stores.database.all(`PRAGMA max_page_count = ${pages + 2}`);
    const fill = async () => {
      for (;;) await samples.created(stores.elicitations, samples.ask(samples.somebody()));
    };
    await expect(fill()).rejects.toThrow(StoreUnavailableError);
    stores.database.all('PRAGMA max_page_count = 1000000');
    expect(await stores.mutes.unmute(person, 'calendar')).toBe(true);
    expect(stores.refusals()).toEqual([]);
  });

  test('after the end it fails as unavailable', async () => {
    const stores = createSqliteStores({ path, now: clock.now });
    await stores.close();
    await stores.close();
    await expect(stores.elicitations.create(samples.ask(samples.somebody()))).rejects.toThrow(StoreUnavailableError);
    await expect(stores.ping()).rejects.toThrow(StoreUnavailableError);
  });
});

describe('the file', () => {
  test('is synced at every commit, shrinks, and waits at most 20 ms for a lock', () => {
    using database = open();
    const pragma = (name: string) => Object.values(database.all(`PRAGMA ${name}`)[0] ?? {})[0];
    expect(['journal_mode', 'synchronous', 'foreign_keys', 'auto_vacuum', 'locking_mode'].map(pragma)).toEqual([
      'wal',
      2,
      1,
      1,
      'exclusive',
    ]);
    expect(Number(pragma('busy_timeout'))).toBeLessThanOrEqual(20);
  });

  test.skipIf(process.platform === 'win32')('is readable by its owner only, with all files beside it', () => {
    const modes = () => readdirSync(folder).map(name => statSync(join(folder, name)).mode & 0o777);
    const write = () => {
      using database = open();
      database.commit(() => new Records<string>(database, 'note').put('one', 'text'));
      expect(readdirSync(folder)).toContain('store.db-wal');
      expect(new Set(modes())).toEqual(new Set([0o600]));
    };
    write();
    chmodSync(path, 0o644);
    write();
  });

  test('keeps its records from one process to the next', async () => {
    const subject = samples.somebody();
    const made = await (async () => {
      await using stores = createSqliteStores({ path, now: clock.now });
      return samples.created(stores.elicitations, samples.ask(subject));
    })();
    await using stores = createSqliteStores({ path, now: clock.now });
    expect(await stores.elicitations.read(made.elicitationId)).toEqual(made);
    expect(await stores.elicitations.create(samples.ask(subject))).toMatchObject({ result: 'open' });
    const moved = await samples.moved(stores.elicitations, made, samples.cancel);
    expect((await allEvents(stores)).map(({ type }) => type)).toEqual(['elicitation.pending', 'elicitation.cancelled']);
    expect(moved.version).toBe(2);
  });

  test('contains no id of a browser session', async () => {
    await using stores = createSqliteStores({ path, now: clock.now });
    const subject = samples.somebody();
    const id = samples.browserSessionIdOf(subject);
    const session = { id, subject, origin: { vouchedBy: 'desk' }, displayName: 'Alice' };
    await stores.browserSessions.create(session, { idleMs: 1_000, absoluteMs: 1_000 }, samples.AMPLE);
    const bytes = readdirSync(folder)
      .map(name => readFileSync(join(folder, name), 'latin1'))
      .join('');
    expect(bytes).toContain('Alice');
    expect(bytes).not.toContain(id.slice(5));
  });

  test('is refused to a second process by name, as long as the first one runs', () => {
    const second = `
      import { createSqliteStores } from '@postern/store-sqlite';
      try {
        await createSqliteStores({ path: process.argv[1], now: Date.now }).close();
        console.log('opened');
      } catch (error) {
        console.log(error.code, error.message.includes(process.argv[1]));
      }
    `;
    const start = () =>
      spawnSync(process.execPath, ['--input-type=module', '--eval', second, path], {
        cwd: import.meta.dirname,
        encoding: 'utf8',
      }).stdout.trim();
    {
      using _first = open();
      expect(codeOf(open)).toBe('file_in_use');
      expect(start()).toBe('file_in_use true');
    }
    expect(start()).toBe('opened');
  });

  test('with another layout it is refused with both numbers, and stays unchanged', () => {
    open()[Symbol.dispose]();
    using other = new DatabaseSync(path);
    other.exec('PRAGMA user_version = 7');
    other.close();
    const before = readFileSync(path);
    expect(codeOf(open)).toBe('unknown_file_layout');
    expect(open).toThrow(/layout 7\b.*layout 1\b/);
    expect(readFileSync(path)).toEqual(before);
  });

  test.each([
    [
      'an SQLite file of another program',
      () => {
        using other = new DatabaseSync(path);
        other.exec('CREATE TABLE songs (title TEXT); PRAGMA journal_mode = WAL');
      },
    ],
    ['a text', () => writeFileSync(path, 'a list of songs')],
    ['a folder', () => mkdirSync(path)],
  ])('that is %s is refused, and keeps its mode, its name and its contents', (_, make) => {
    make();
    chmodSync(path, 0o755);
    const seen = () => [readdirSync(folder), statSync(path).mode, statSync(path).mtimeMs, statSync(path).size];
    const before = seen();
    expect(codeOf(open)).toBe('foreign_file');
    expect(seen()).toEqual(before);
  });

  test('with a damaged page is refused by every start, and begun anew only when it was moved away', () => {
    for (const nth of [1, 2]) {
      const database = open();
      const records = new Records<string>(database, 'note');
      database.commit(() => {
        for (let id = 0; id < 100; id += 1) records.put(String(id), 'text'.repeat(200));
      });
      database[Symbol.dispose]();
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill(0x5a, 4_096 * 3, 4_096 * 5));
      expect([codeOf(open), codeOf(open)]).toEqual(['damaged_file', 'damaged_file']);
      expect(readFileSync(path)).toEqual(bytes);
      renameSync(path, `${path}.${nth}`);
      using empty = open();
      expect(new Records<string>(empty, 'note').get('1')).toBeUndefined();
    }
  });

  test('that was emptied is refused by every start, and begun anew only when it was moved away', () => {
    open()[Symbol.dispose]();
    truncateSync(path);
    expect([codeOf(open), codeOf(open)]).toEqual(['damaged_file', 'damaged_file']);
    expect(open).toThrow(/is empty.*Move it/);
    expect(statSync(path).size).toBe(0);
    rmSync(path);
    open()[Symbol.dispose]();
    open()[Symbol.dispose]();
  });

  test('that could not be begun is removed again', () => {
    const full = Object.assign(new Error('full'), { errcode: 13 });
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(() => {
      throw full;
    });
    expect(codeOf(open)).toBe(full);
    expect(readdirSync(folder)).toEqual([]);
    open()[Symbol.dispose]();
  });

  test('is created behind a link that leads to no file yet', () => {
    symlinkSync(join(folder, 'volume.db'), path);
    open()[Symbol.dispose]();
    expect(statSync(join(folder, 'volume.db')).mode & 0o777).toBe(0o600);
    open()[Symbol.dispose]();
  });

  test.each([
    ['killed before the first table', 'PRAGMA auto_vacuum = FULL; BEGIN EXCLUSIVE; COMMIT; PRAGMA user_version = 0'],
    ['an empty file of any program', 'CREATE TABLE a (b); DROP TABLE a'],
  ])('without tables is begun: %s', (_, left) => {
    {
      using half = new DatabaseSync(path);
      half.exec(left);
    }
    expect(statSync(path).size).toBeGreaterThan(0);
    expect(() => open()[Symbol.dispose]()).not.toThrow();
    using database = open();
    new Records<string>(database, 'note').put('1', 'text');
    expect(database.all('PRAGMA auto_vacuum')).toEqual([{ auto_vacuum: 1 }]);
  });

  test('that this process has open keeps its lock when it is opened again', () => {
    const reader = spawnSync.bind(undefined, process.execPath, [
      ...['--input-type=module', '--eval'],
      "import { DatabaseSync } from 'node:sqlite'; new DatabaseSync(process.argv[1]).exec('SELECT * FROM records')",
      path,
    ]);
    const first = open();
    expect(codeOf(open)).toBe('file_in_use');
    expect(String(reader({ encoding: 'utf8' }).stderr)).toContain('database is locked');
    first[Symbol.dispose]();
    open()[Symbol.dispose]();
  });

  test('stays small, because later commits delete the records that have ended', async () => {
    await using stores = createSqliteStores({
      path,
      now: clock.now,
      paymentRetentionMs: 1,
      countRetentionMs: 1,
      eventsPerShard: 10,
    });
    const count = () => Number(stores.database.all('SELECT count(*) AS count FROM records')[0]?.['count']);
    const pages = () => Number(stores.database.all('PRAGMA page_count')[0]?.['page_count']);
    const subject = samples.somebody();
    const write = async (times: number) => {
      for (let nth = 0; nth < times; nth += 1) {
        const request = samples.ask(subject, { coalescingDigest: samples.operation() });
        await samples.moved(stores.elicitations, await samples.created(stores.elicitations, request), samples.cancel);
        await stores.oneTime.claim(samples.operation(), 1_000);
      }
      const { entries } = await stores.outbox.read(samples.shardFor(subject), { after: undefined, limit: 10_000 });
      await stores.outbox.carry('issue-tracker', entries);
      const last = entries.at(-1);
      if (last !== undefined) await stores.outbox.moveCursor(samples.shardFor(subject), last.position);
    };
    await write(200);
    const [records, size] = [count(), pages()];
    expect(records).toBeGreaterThan(600);
    clock.advance(30 * 24 * 3_600_000);
    await write(50);
    expect(count()).toBeLessThan(records / 2);
    expect(pages()).toBeLessThan(size / 2);
    expect(stores.database.all('SELECT kind FROM records WHERE ends_at <= ?', clock.now())).toEqual([]);
  });

  test('deletes few ended records in one commit', () => {
    using database = open();
    const records = new Records<{ endsAt: number }>(database, 'note', row => row);
    const count = () => Number(database.all('SELECT count(*) AS count FROM records')[0]?.['count']);
    database.commit(() => {
      for (let id = 0; id < 500; id += 1) records.put(String(id), { endsAt: clock.now() + 1 });
    });
    clock.advance(1);
    expect(records.get('1')).toBeUndefined();
    const left = [];
    for (let nth = 0; nth < 3; nth += 1) {
      database.commit(() => {});
      left.push(count());
    }
    expect(left).toEqual([468, 436, 404]);
  });

  test.each(['while it is open', 'between two openings'])(
    'a clock that is a year behind %s ends no record early',
    when => {
      const start = clock.now();
      let database = open();
      const records = () => new Records<{ endsAt: number }>(database, 'note', row => row);
      const put = (id: string) => database.commit(() => records().put(id, { endsAt: clock.now() + 10_000 }));
      put('before');
      if (when === 'between two openings') database[Symbol.dispose]();
      clock.set(start - 365 * 24 * 3_600_000);
      if (when === 'between two openings') database = open();
      put('behind');
      clock.set(start + 9_999);
      put('after');
      expect(['before', 'behind', 'after'].map(id => records().get(id) !== undefined)).toEqual([true, false, true]);
      clock.advance(1);
      expect(records().get('before')).toBeUndefined();
      database[Symbol.dispose]();
    },
  );

  test('rounds times up to a whole millisecond', () => {
    using database = openDatabase(':memory:', () => clock.now() + 0.25);
    const records = new Records<{ endsAt: number; rank: number }>(database, 'note', row => ({ ...row, list: 'queue' }));
    const at = clock.now() + 1.5;
    database.commit(() => records.put('one', { endsAt: at + 1, rank: at }));
    clock.advance(1);
    expect(records.due('queue', 1)).toEqual([]);
    clock.advance(1);
    expect(records.due('queue', 1)).toHaveLength(1);
    clock.advance(1);
    expect(records.get('one')).toBeUndefined();
  });

  test('keeps a record that is put again after its end, with the same value', () => {
    using database = open();
    let retentionMs = 1;
    const records = new Records<{ at: number }>(database, 'note', ({ at }) => ({ endsAt: at + retentionMs }));
    const row = { at: clock.now() };
    database.commit(() => records.put('one', row));
    clock.advance(1);
    expect(records.get('one')).toBeUndefined();
    retentionMs = 10;
    database.commit(() => records.put('one', row));
    expect(records.get('one')).toEqual(row);
  });
});

describe('a file that is gone', () => {
  test.each([
    ['removed', () => rmSync(path)],
    ['replaced', () => renameSync(copied(), path)],
    ['removed with its folder', () => rmSync(folder, { recursive: true })],
  ])('when it is %s, refuses every commit, even if it comes back', async (_, remove) => {
    const seen: (readonly string[])[] = [];
    await using stores = createSqliteStores({ path, now: clock.now, onRefusals: codes => seen.push(codes) });
    const made = await samples.created(stores.elicitations, samples.ask(samples.somebody()));
    const kept = join(tmpdir(), `${basename(folder)}.kept`);
    linkSync(path, kept);
    await stores.ping();
    remove();
    await expect(stores.ping()).rejects.toThrow(StoreUnavailableError);
    expect(stores.refusals()).toEqual(['file_gone']);
    const create = () => stores.elicitations.create(samples.ask(samples.somebody()));
    await expect(create()).rejects.toThrow(StoreUnavailableError);
    mkdirSync(folder, { recursive: true });
    renameSync(kept, path);
    await expect(create()).rejects.toThrow(StoreUnavailableError);
    await expect(stores.ping()).rejects.toThrow(StoreUnavailableError);
    expect(seen).toEqual([['file_gone']]);
    expect(await stores.elicitations.read(made.elicitationId)).toEqual(made);
  });

  test('acknowledges nothing, even before the next check', async () => {
    await using stores = createSqliteStores({ path, now: clock.now });
    rmSync(path);
    await expect(stores.elicitations.create(samples.ask(samples.somebody()))).rejects.toThrow(StoreUnavailableError);
    expect(stores.refusals()).toEqual(['file_gone']);
  });
});

function copied(): string {
  writeFileSync(`${path}.copy`, readFileSync(path));
  return `${path}.copy`;
}
