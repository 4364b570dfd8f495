import type { StepCount } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { parseConfig } from '../platform/config/load-config.ts';
import { sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import { createOverview, type OverviewDeps } from './overview.ts';

const DAY_MS = 24 * 3_600_000;
const since = new Date('2026-01-01T00:00:00Z');

test('counts of many days are read in few parts of bounded size, and empty days not at all', async () => {
  /** Counts of each day: full days, few counts, nothing. */
  const sizeOf = (day: string) => [5_000, 400, 0, 0, 24][(Date.parse(day) / DAY_MS) % 5] ?? 0;
  const reads: { readonly at: number; readonly size: number }[] = [];
  let turn = 0;
  const deps = {
    config: parseConfig(sampleConfig({ providers: [], mcpServers: [{ ...sampleMcpServer, providers: [] }] })),
    mcpServers: new Map(['one', 'two'].map(id => [id, {}])),
    stores: {
      counts: {
        size: async (_: string, day: string) => sizeOf(day),
        async read(_: string, day: string) {
          reads.push({ at: turn, size: sizeOf(day) });
          await new Promise(setImmediate);
          // Of the reads of one part, the first moves on: the others have begun before.
          turn = reads.length;
          const count: StepCount = { at: Date.parse(day), step: 'issued', kind: 'form', count: 1 };
          return { steps: Array.from({ length: sizeOf(day) }, () => count), decisions: [] };
        },
      },
    },
  } as unknown as OverviewDeps;
  const until = new Date(since.getTime() + 100 * DAY_MS);
  const { steps } = await createOverview(deps).counts({ since, until, by: 'day' });
  expect(steps.reduce((sum, { count }) => sum + count, 0)).toBe(2 * 20 * (5_000 + 400 + 24));
  expect(reads.every(({ size }) => size > 0)).toBe(true);
  const parts = [...Map.groupBy(reads, ({ at }) => at).values()];
  for (const part of parts) {
    const total = part.reduce((sum, { size }) => sum + size, 0);
    expect(part.length === 1 || total <= 1_000).toBe(true);
  }
  expect(parts.length).toBeLessThan(reads.length);
});
