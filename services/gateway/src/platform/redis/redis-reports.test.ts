import { DomainError, QuotaExceededError, UnknownRecordLayoutError } from '@postern/elicitation';
import { RedisFault } from '@postern/store-redis';
import { createFakeClock } from '@postern/testkit/clock';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { createChannels } from '../call-channels.ts';
import {
  capacityReports,
  createQuotaReports,
  createRedisFaultLog,
  createUnknownLayoutLog,
  durabilityReports,
} from './redis-reports.ts';

test('S77: logs once that Redis refuses writes, with the codes, and once that it accepts them again', () => {
  const logger = { info: vi.fn(), error: vi.fn() };
  const redisCapacity = vi.fn();
  const { onCapacity } = capacityReports(logger, { redisCapacity });
  const looks = [[], ['OOM'], ['OOM'], ['MISCONF', 'OOM'], [], []].map(refusals => ({ refusals, memoryUsed: 0.5 }));
  for (const look of looks) onCapacity(look);
  expect(logger.error.mock.calls.map(([line]) => line)).toEqual([
    { event: 'redis.writes_refused', codes: ['OOM'] },
    { event: 'redis.writes_refused', codes: ['MISCONF', 'OOM'] },
  ]);
  expect(logger.info.mock.calls.map(([line]) => line)).toEqual([{ event: 'redis.writes_regained' }]);
  expect(redisCapacity.mock.calls.map(([look]) => look)).toEqual(looks);
});

test('S77: logs the number of failed commands by code, once in ten seconds', () => {
  const clock = createFakeClock();
  const logger = { warn: vi.fn() };
  using channels = createChannels({ error: expect.fail });
  channels.store.subscribe(createRedisFaultLog(logger, clock.now));
  const observe = channels.onCommand;
  observe('createElicitation')();
  for (let n = 0; n < 400; n += 1) observe('createElicitation')(new RedisFault('refused', 'OOM'));
  observe('hget')(new RedisFault('ambiguous', 'timeout'));
  clock.advance(10_000);
  observe('set')(new RedisFault('refused', 'OOM'));
  expect(logger.warn.mock.calls.map(([line]) => line)).toEqual([
    { event: 'redis.commands_failed', failed: { OOM: 1 } },
    { event: 'redis.commands_failed', failed: { OOM: 400, timeout: 1 } },
  ]);
});

test('logs once that durability is lost, with the reason, and once that it is restored', () => {
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
  'warns of %s and says what to set',
  setting => {
    const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    durabilityReports(logger, undefined).onWarning(setting);
    expect(logger.warn.mock.calls).toEqual([[{ event: 'redis.unwise', setting }, expect.stringContaining('set ')]]);
  },
);

test('S73: counts every exceeded quota, and logs each MCP server once a minute', () => {
  const clock = createFakeClock();
  const logger = { warn: vi.fn() };
  const metrics = { quotaExceeded: vi.fn() };
  const note = createQuotaReports({ logger, metrics, now: clock.now });
  note(new DomainError('contention', 'Another one.'));
  for (const mcpServerId of ['hoarder', 'hoarder', 'other']) note(new QuotaExceededError(mcpServerId, 1));
  clock.advance(60_000);
  note(new QuotaExceededError('hoarder', 1));
  expect(metrics.quotaExceeded).toHaveBeenCalledTimes(4);
  expect(logger.warn.mock.calls.map(([line]) => line)).toEqual(
    ['hoarder', 'other', 'hoarder'].map(mcpServerId => ({ event: 'quota.exceeded', mcpServerId })),
  );
});

test('logs each unknown layout once a minute, and ignores other errors', () => {
  const lines: string[] = [];
  const clock = createFakeClock();
  const logger = pino({ base: null }, { write: line => void lines.push(line) });
  const note = createUnknownLayoutLog({ logger, now: clock.now });
  const layouts = () => lines.splice(0).map(line => (JSON.parse(line) as { layout: unknown }).layout);

  expect([3, 3, 4, undefined, 3].map(layout => note(new UnknownRecordLayoutError(layout)))).not.toContain(false);
  expect(layouts()).toEqual([3, 4, 'none']);
  clock.advance(59_999);
  note(new UnknownRecordLayoutError(3));
  expect(layouts()).toEqual([]);
  clock.advance(1);
  note(new UnknownRecordLayoutError(3));
  expect(layouts()).toEqual([3]);
  expect([new DomainError('contention', ''), new Error('x'), 'x'].map(note)).toEqual([false, false, false]);
  expect(layouts()).toEqual([]);
});
