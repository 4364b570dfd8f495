import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createFakeClock } from '@postern/testkit/clock';
import { describeStores, FEED_RETENTION, type MakeStores, samples } from '@postern/testkit/contract';
import { isShortRun } from '@postern/testkit/run-size';
import { describe, expect, test } from 'vitest';
import { openDatabase } from './database.ts';
import { Records } from './records.ts';
import type { ApiKeyRow } from './sqlite-api-key-store.ts';
import { createSqliteStores } from './sqlite-stores.ts';

/** What the suites send to SQLite. */
const statements = new Set<string>();
const { prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.prepare = function (sql, ...options) {
  statements.add(sql.trim());
  return prepare.call(this, sql, ...options);
};

const storesAt =
  (place: () => { readonly path: string; readonly remove?: () => void }): MakeStores =>
  async () => {
    const { path, remove } = place();
    const clock = createFakeClock();
    const stores = createSqliteStores({ path, now: clock.now, feed: FEED_RETENTION });
    return {
      ...stores,
      clock,
      async [Symbol.asyncDispose]() {
        await stores.close();
        remove?.();
      },
    };
  };

describeStores(
  'SQLite in memory',
  storesAt(() => ({ path: ':memory:' })),
);
// The same statements, with a disk that takes most of the time: the short run leaves them out.
if (!isShortRun)
  describeStores(
    'SQLite in a file',
    storesAt(() => {
      const folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'));
      return { path: join(folder, 'store.db'), remove: () => rmSync(folder, { recursive: true }) };
    }),
  );

/** How a query may find its records: by the columns of one index, or by the rows that such a search has found. */
const searches =
  /^SEARCH records USING (?:(?:COVERING )?INDEX (?:by_id \(kind=\? AND id[=>]\?|by_list \(list=\?|by_whose \(kind=\? AND whose=\?|by_end \(ends_at<)|INTEGER PRIMARY KEY \(rowid=\?)/;
const furtherSteps = /^(?:LIST SUBQUERY|USE TEMP B-TREE|CREATE BLOOM FILTER)/;

test('SQLite in memory: every query finds its records by an index', () => {
  using database = openDatabase(':memory:', Date.now);
  const others = /^(?:BEGIN|COMMIT|PRAGMA|INSERT INTO records)|sqlite_schema/;
  const queries = [...statements].filter(sql => !others.test(sql));
  expect(queries.length).toBeGreaterThan(8);
  for (const sql of queries) {
    const values = Array.from(sql.matchAll(/\?/g), () => null);
    const steps = database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail));
    expect(steps.filter(step => searches.test(step)).length, sql).toBeGreaterThan(0);
    expect(
      steps.filter(step => !searches.test(step) && !furtherSteps.test(step)),
      sql,
    ).toEqual([]);
  }
});

/** What the suites cannot see in Redis, where it is approximate or depends on the clock of Redis. */
describe('SQLite in memory: retention', () => {
  const DAY_MS = 24 * 3_600_000;
  const opened = () => {
    const clock = createFakeClock();
    const audit = { people: { lines: 10, maxAgeMs: 90 * DAY_MS }, operators: { lines: 10, maxAgeMs: 400 * DAY_MS } };
    return { ...createSqliteStores({ path: ':memory:', now: clock.now, audit, eventsPerShard: 4 }), clock };
  };

  test('S205: the audit trail keeps a number of lines of each stream, for a time', async () => {
    await using stores = opened();
    const kept = async () => (await stores.audits.read({ limit: 100 })).map(({ line }) => line);
    await stores.audits.append('operators', 'of an operator');
    for (let nth = 0; nth < 25; nth += 1) await stores.audits.append('people', `${nth}`);
    expect(await kept()).toEqual(['of an operator', ...Array.from({ length: 10 }, (_, at) => `${at + 15}`)]);
    stores.clock.advance(90 * DAY_MS);
    expect(await kept()).toEqual(['of an operator']);
    stores.clock.advance(310 * DAY_MS);
    expect(await kept()).toEqual([]);
  });

  test('S205: positions in the audit trail grow over both streams, in one millisecond and when the clock goes back', async () => {
    await using stores = opened();
    const write = async (step: number) => {
      await stores.audits.append(step % 2 === 0 ? 'people' : 'operators', `${step}`);
    };
    for (let step = 0; step < 3; step += 1) await write(step);
    stores.clock.advance(-DAY_MS);
    for (let step = 3; step < 6; step += 1) await write(step);
    stores.clock.advance(2 * DAY_MS);
    for (let step = 6; step < 9; step += 1) await write(step);
    const lines = await stores.audits.read({ limit: 100 });
    expect(lines.map(({ line }) => line)).toEqual(Array.from({ length: 9 }, (_, at) => `${at}`));
    const start = stores.clock.now() - DAY_MS;
    expect(lines.map(({ position }) => position)).toEqual([
      ...[0, 1, 2, 3, 4, 5].map(at => `${start}-${at}${at % 2 === 0 ? '' : 'o'}`),
      ...[0, 1, 2].map(at => `${start + DAY_MS}-${at}${at % 2 === 0 ? '' : 'o'}`),
    ]);
  });

  test('a shard keeps its newest events, and every event that is not carried', async () => {
    await using stores = opened();
    const subject = samples.somebody();
    const shard = samples.shardFor(subject);
    const announce = async (times: number) => {
      for (let nth = 0; nth < times; nth += 1)
        await samples.created(stores.elicitations, samples.ask(subject, { coalescingDigest: samples.operation() }));
    };
    const positions = async () => (await stores.events.read(shard, { limit: 100 })).map(({ position }) => position);
    await announce(10);
    const all = await positions();
    const [third = '', last = ''] = [all[2], all[9]];
    await stores.outbox.moveCursor(shard, third);
    expect(await positions()).toEqual(all.slice(3));
    expect(await stores.outbox.read(shard, { after: third, limit: 1 })).toMatchObject({ hasGap: false });
    await stores.outbox.moveCursor(shard, last);
    expect(await positions()).toEqual(all.slice(6));
    expect(await stores.outbox.read(shard, { after: third, limit: 1 })).toMatchObject({ hasGap: true });
  });

  test('refuses more API keys than a gateway can read, and lists the newest revoked ones', async () => {
    await using stores = opened();
    const rows = new Records<ApiKeyRow>(stores.database, 'api key', ({ state: whose, createdAt: rank }) => ({
      whose,
      rank,
    }));
    const fill = (state: 'valid' | 'revoked', count: number) =>
      stores.database.commit(() => {
        for (let nth = 0; nth < count; nth += 1) {
          const apiKeyId = `ak_${state}${nth}`;
          rows.put(apiKeyId, { apiKeyId, mcpServerId: 'tracker', createdAt: nth, state });
        }
      });
    const about = { mcpServerId: 'tracker', name: 'production', lastFour: 'abcd', by: 'olga', reason: 'first' };
    const add = (apiKeyId: string) => stores.apiKeys.add({ ...about, apiKeyId, sealedDigest: 'sealed' });
    fill('revoked', 1_001);
    expect(await add('ak_1')).toBe('added');
    const { apiKeys = [] } = (await stores.apiKeys.read()) ?? {};
    expect(apiKeys).toHaveLength(1_001);
    expect(apiKeys.map(({ apiKeyId }) => apiKeyId)).not.toContain('ak_revoked0');
    fill('valid', 9_999);
    expect(await add('ak_2')).toBe('full');
    expect(await stores.apiKeys.revoke('ak_1', { by: 'olga', reason: 'leaked' })).toBe('revoked');
    expect(await add('ak_2')).toBe('added');
  });

  test('the sum of the charges of an MCP server is kept by the hour, however many records it has', async () => {
    await using stores = opened();
    const subject = samples.somebody();
    const sums = () =>
      stores.database
        .all("SELECT value FROM records WHERE kind = 'charges by hour'")
        .map(({ value }) => JSON.parse(`${value}`));
    const create = () =>
      samples.created(stores.elicitations, samples.ask(subject, { coalescingDigest: samples.operation() }));
    for (let nth = 0; nth < 99; nth += 1) await create();
    stores.clock.advance(3_600_000);
    const last = await create();
    expect(sums()).toMatchObject([{ records: 99 }, { records: 1 }]);
    const [use] = await stores.storageUse.read([last.mcpServerId]);
    expect(use?.records).toBe(100);
    stores.clock.advance(DAY_MS);
    expect((await stores.storageUse.read([last.mcpServerId]))[0]?.records).toBe(1);
    stores.clock.advance(DAY_MS);
    expect((await stores.storageUse.read([last.mcpServerId]))[0]).toMatchObject({ records: 0, bytes: 0 });
  });

  test('ended jobs, revoked API keys and counted refreshes end', async () => {
    await using stores = opened();
    const jobId = `jb_${samples.operation()}`;
    const about = { verb: 'disconnect', target: {}, by: 'olga', door: 'console' } as const;
    await stores.jobs.start({ jobId, about });
    await stores.jobs.end({ jobId, status: 'cancelled' });
    const at = stores.clock.now();
    const day = new Date(at).toISOString().slice(0, 10);
    const counts = [{ at, outcome: 'refreshed', count: 1 }] as const;
    await stores.refreshCounts.add('a', { provider: 'forge', day, operationId: samples.operation(), counts });
    const kept = async () => [await stores.jobs.ended(10), await stores.refreshCounts.read('forge', day)];
    stores.clock.advance(30 * DAY_MS - 1);
    expect(await kept()).toEqual([[jobId], counts]);
    stores.clock.advance(1);
    expect(await kept()).toEqual([[], counts]);
    stores.clock.advance(60 * DAY_MS);
    expect(await kept()).toEqual([[], []]);
  });
});
