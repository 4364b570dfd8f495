import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shardIn } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { describeStores, FEED_RETENTION, type MakeStores } from '@postern/testkit/contract';
import { expect, test } from 'vitest';
import { openDatabase } from './database.ts';
import { createSqliteStores } from './sqlite-stores.ts';

/** What the suites have sent to SQLite. */
const statements = new Set<string>();

const storesAt =
  (place: () => { readonly path: string; readonly remove?: () => void }): MakeStores =>
  async () => {
    const { path, remove } = place();
    const clock = createFakeClock();
    const stores = createSqliteStores({ path, now: clock.now, feed: FEED_RETENTION });
    return {
      ...stores,
      clock,
      events: async shard => stores.events().filter(event => shardIn(event.elicitationId) === shard),
      async [Symbol.asyncDispose]() {
        for (const statement of stores.database.statements) statements.add(statement);
        await stores.close();
        remove?.();
      },
    };
  };

describeStores(
  'SQLite in memory',
  storesAt(() => ({ path: ':memory:' })),
);
describeStores(
  'SQLite in a file',
  storesAt(() => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'));
    return { path: join(folder, 'store.db'), remove: () => rmSync(folder, { recursive: true }) };
  }),
);

/** How a query may find its records: by the columns of one index, or by the rows that such a search has found. */
const searches =
  /^SEARCH records USING (?:(?:COVERING )?INDEX (?:by_id \(kind=\? AND id=\?|by_list \(list=\?|by_whose \(kind=\? AND whose=\?|by_end \(ends_at<)|INTEGER PRIMARY KEY \(rowid=\?)/;
const furtherSteps = /^(?:LIST SUBQUERY|USE TEMP B-TREE|CREATE BLOOM FILTER)/;

test('SQLite in memory: every query finds its records by an index', () => {
  using database = openDatabase(':memory:', Date.now);
  // `events`, which only tests read, lists a whole kind.
  const others = /^(?:BEGIN|COMMIT|INSERT INTO records|SELECT 1$)|WHERE kind = \? ORDER BY seq/;
  const queries = [...statements].map(sql => sql.trim()).filter(sql => !others.test(sql));
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
