import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreUnavailableError } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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
afterEach(() => rmSync(folder, { recursive: true }));

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
    for (const { elicitationId } of acknowledged) expect(await stores.elicitations.read(elicitationId)).toBeDefined();
    stores.database.all('PRAGMA max_page_count = 1000000');
    await samples.moved(stores.elicitations, kept, samples.cancel);
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
    expect(stores.events().map(({ type }) => type)).toEqual(['elicitation.pending', 'elicitation.cancelled']);
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

  test('of another program is refused, and stays unchanged', () => {
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE songs (title TEXT)');
    other.close();
    const before = readFileSync(path);
    expect(codeOf(open)).toBe('foreign_file');
    expect([readdirSync(folder), readFileSync(path)]).toEqual([['store.db'], before]);
  });

  test.each(['header', 'page'])(
    'with a damaged %s it is set aside by name, and the next start begins an empty one',
    what => {
      for (const nth of [1, 2]) {
        const database = open();
        const records = new Records<string>(database, 'note');
        database.commit(() => {
          for (let id = 0; id < 100; id += 1) records.put(String(id), 'text'.repeat(200));
        });
        database[Symbol.dispose]();
        const bytes = readFileSync(path);
        bytes.fill(0x5a, what === 'header' ? 0 : 4_096 * 3, what === 'header' ? 4_096 : 4_096 * 5);
        writeFileSync(path, bytes);
        const aside = `${path}.damaged-${nth}`;
        expect(codeOf(open)).toBe('damaged_file');
        expect(existsSync(aside)).toBe(true);
        expect(readFileSync(aside)).toEqual(bytes);
        using empty = open();
        expect(new Records<string>(empty, 'note').get('1')).toBeUndefined();
      }
    },
  );

  test('stays small, because later commits delete the records that have ended', async () => {
    await using stores = createSqliteStores({ path, now: clock.now, paymentRetentionMs: 1, countRetentionMs: 1 });
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
});
