import { DomainError, QuotaExceededError } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { expect, it, vi } from 'vitest';
import { createQuotaReports } from './quota-reports.ts';

it('S73: counts every refusal, and names each MCP server once a minute', () => {
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
