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

test('every query finds its records by an index', () => {
  using database = openDatabase(':memory:', Date.now);
  const queries = [...statements].filter(sql => !/^(?:BEGIN|COMMIT|SELECT 1$)/.test(sql));
  expect(queries.length).toBeGreaterThan(10);
  const plans = queries.map(sql => {
    const values = Array.from(sql.matchAll(/\?/g), () => null);
    return [sql, database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail))] as const;
  });
  for (const [sql, steps] of plans)
    expect(
      steps.filter(step => step.startsWith('SCAN')),
      sql,
    ).toEqual([]);
  expect(plans.flatMap(([, steps]) => steps).filter(step => step.startsWith('SEARCH')).length).toBeGreaterThan(10);
});
