import { SHARDS, type Shard } from '@postern/elicitation';
import { createMemoryStores } from '@postern/testkit/memory';
import { expect, test, vi } from 'vitest';
import { createMetrics } from './metrics/create-metrics.ts';
import { startRelay } from './relay.ts';
import { relayReports } from './relay-reports.ts';

test('counts and logs a gap', async () => {
  const { outbox } = createMemoryStores({ now: Date.now });
  const logger = { warn: vi.fn(), error: vi.fn() };
  const metrics = createMetrics();
  const [shard = '00' as Shard] = SHARDS;
  let hasGap = true;
  const withGap = {
    cursor: outbox.cursor.bind(outbox),
    moveCursor: outbox.moveCursor.bind(outbox),
    carry: outbox.carry.bind(outbox),
    onCommit: outbox.onCommit.bind(outbox),
    async read(of: Shard, p: Parameters<typeof outbox.read>[1]) {
      const page = await outbox.read(of, p);
      if (of !== shard || !hasGap) return page;
      // The sweep looks first, then it is carried.
      hasGap = p.limit === 1;
      return { ...page, hasGap: true };
    },
  };
  const leases = { take: async () => true, release: async () => undefined };
  await using _relay = startRelay({ outbox: withGap, leases, ...relayReports(logger, metrics) });
  await expect.poll(() => logger.error.mock.calls.map(([fields]) => fields)).toEqual([{ event: 'relay.gap', shard }]);
  expect(await metrics.registry.metrics()).toMatch(/^postern_relay_gaps_total 1$/m);
});
