import { expect, test, vi } from 'vitest';
import { durabilityReports } from './durability-reports.ts';

test('says once when durability is lost, with the reason, and once when it is regained', () => {
  const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const durable = vi.fn();
  const reports = durabilityReports(logger, { durable });
  reports.onDurability({ holds: false, reason: 'replicas' });
  reports.onDurability({ holds: true });
  expect(logger.error.mock.calls.map(([fields]) => fields)).toEqual([
    { event: 'redis.durability_lost', reason: 'replicas' },
  ]);
  expect(logger.info.mock.calls.map(([fields]) => fields)).toEqual([{ event: 'redis.durability_regained' }]);
  expect(durable.mock.calls).toEqual([[true], [false], [true]]);
});

test.each(['min-replicas-to-write', 'appendfsync', 'default-user', 'maxmemory'] as const)(
  'warns of %s with its setting and what to set',
  setting => {
    const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    durabilityReports(logger, undefined).onWarning(setting);
    expect(logger.warn.mock.calls).toEqual([[{ event: 'redis.unwise', setting }, expect.stringContaining('set ')]]);
  },
);
