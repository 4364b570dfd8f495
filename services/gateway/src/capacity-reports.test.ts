import { RedisFault } from '@postern/store-redis';
import { createFakeClock } from '@postern/testkit/clock';
import { expect, it, vi } from 'vitest';
import { capacityReports, createRedisFaultLog } from './capacity-reports.ts';

it('S77: says once that Redis refuses writes, with the codes, and once that it takes them again', () => {
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

it('S77: logs the codes of failed commands and how many there were, once in ten seconds', () => {
  const clock = createFakeClock();
  const logger = { warn: vi.fn() };
  const observe = createRedisFaultLog(logger, clock.now);
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
