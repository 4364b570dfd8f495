import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shardIn } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { describeStores, FEED_RETENTION, type MakeStores } from '@postern/testkit/contract';
import { createSqliteStores } from './sqlite-stores.ts';

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

describeStores('SQLite in memory', storesAt(() => ({ path: ':memory:' })));
describeStores(
  'SQLite in a file',
  storesAt(() => {
    const folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'));
    return { path: join(folder, 'store.db'), remove: () => rmSync(folder, { recursive: true }) };
  }),
);
