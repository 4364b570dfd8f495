import { expect, it } from 'vitest';
import { createProviderActivity } from './provider-activity.ts';

const as = { level: 'info', text: '' };

it('counts refreshes by provider, and forgets a failure after a refresh that worked', () => {
  const { sink, read } = createProviderActivity();
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  sink({ event: 'connection.refresh_postponed', provider: 'forge', code: 'outbound_timeout' }, as);
  sink({ event: 'connection.lost', provider: 'forge', reason: 'refresh_refused' }, as);
  sink({ event: 'connection.lost', provider: 'other', reason: 'refresh_refused' }, as);
  sink({ event: 'elicitation.issued' }, as);
  expect(read()).toEqual([
    { provider: 'forge', refreshed: 1, postponed: 1, lost: 1, failing: 'outbound_timeout' },
    { provider: 'other', refreshed: 0, postponed: 0, lost: 1 },
  ]);
  sink({ event: 'connection.refreshed', provider: 'forge' }, as);
  expect(read()[0]).toEqual({ provider: 'forge', refreshed: 2, postponed: 1, lost: 1 });
});
