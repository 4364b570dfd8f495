import { createSqliteStores } from '@postern/store-sqlite';
import { samples } from '@postern/testkit/contract';
import { expect, test } from 'vitest';
import { EventCarrier } from './event-carrier.ts';
import { shardOf } from './ids.ts';

test('S48: carries an event to the feed of its own MCP server and to no other', async () => {
  const stores = createSqliteStores({ path: ':memory:', now: () => Date.UTC(2026, 0, 1) });
  const alice = samples.somebody();
  const asked = new Map<string, string>();
  for (const mcpServerId of ['issue-tracker', 'calendar', 'payroll']) {
    const request = samples.from(mcpServerId, samples.ask(alice, { coalescingDigest: samples.operation() }));
    asked.set(mcpServerId, (await samples.created(stores.elicitations, request)).elicitationId);
  }
  await new EventCarrier(stores.outbox).carry([shardOf(alice)]);
  for (const [mcpServerId, elicitationId] of asked) {
    const page = await stores.feeds.read(mcpServerId, { after: undefined, limit: 10 });
    expect(page).toMatchObject({ result: 'events', events: [{ elicitationId, mcpServerId }] });
  }
});
