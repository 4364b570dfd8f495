import type { RefreshBatch } from '@postern/elicitation';
import { expect, it } from 'vitest';
import { createRefreshCounter } from './audit-log.ts';

const as = { level: 'info', text: '' };
const START = Date.parse('2026-11-23T23:10:00Z');
const HOUR_MS = 3_600_000;

function counter(add: (batch: RefreshBatch) => Promise<void>) {
  let at = START;
  const made = createRefreshCounter({
    counts: { add: async (_, batch) => add(batch) },
    logger: { warn: () => {} },
    now: () => at,
  });
  return { ...made, advance: (ms: number) => (at += ms) };
}

it('S170: sends what happened at each provider, by day, hour, outcome and reason, and nothing else', async () => {
  const sent: RefreshBatch[] = [];
  const { sink, flush, advance } = counter(async batch => void sent.push(batch));
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  sink({ event: 'connection.refresh_postponed', provider: 'forge', code: 'outbound_timeout' }, as);
  sink({ event: 'connection.lost', provider: 'other', reason: 'refused' }, as);
  sink({ event: 'elicitation.issued', provider: 'forge' }, as);
  advance(HOUR_MS);
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  await flush();
  await flush();
  const at = Date.parse('2026-11-23T23:00:00Z');
  const operationId = expect.any(String);
  expect(sent).toEqual([
    {
      provider: 'forge',
      day: '2026-11-23',
      operationId,
      counts: [
        { at, outcome: 'refreshed', count: 2 },
        { at, outcome: 'postponed', code: 'outbound_timeout', count: 1 },
      ],
    },
    {
      provider: 'other',
      day: '2026-11-23',
      operationId,
      counts: [{ at, outcome: 'lost', code: 'refused', count: 1 }],
    },
    {
      provider: 'forge',
      day: '2026-11-24',
      operationId,
      counts: [{ at: at + HOUR_MS, outcome: 'refreshed', count: 1 }],
    },
  ]);
});

it('S170: sends an unconfirmed batch again unchanged, before the next one', async () => {
  const sent: RefreshBatch[] = [];
  let isAway = true;
  const { sink, flush } = counter(async batch => {
    sent.push(batch);
    if (isAway) throw new Error('no answer');
  });
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  await flush();
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  isAway = false;
  await flush();
  expect(sent).toHaveLength(3);
  expect(sent[1]).toEqual(sent[0]);
  expect(sent[2]?.operationId).not.toBe(sent[0]?.operationId);
});
