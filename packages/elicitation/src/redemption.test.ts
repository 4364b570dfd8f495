import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import { newElicitationId, shardOf, systemEntropy } from './ids.ts';
import { answer, answered, asked, charging, person, redeemable } from './testing/kind-bench.ts';
import { alice, mcpServer, TTL_MS } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}

const tracker = mcpServer();
const calendar = mcpServer({ mcpServerId: 'calendar', connectionOwner: 'issue-tracker' });

describe('S38 T32 redeem', () => {
  test.each(redeemable)(
    'returns the result under one key, again to its repeats, and is audited once: %s',
    async sample => {
      const bench = createBench();
      const end = await answered(bench, sample);
      const { elicitationId: id, mcpServerId, subject } = end;
      bench.clock.set(end.expiresAt + TTL_MS);
      const audits = await bench.audited(async () => {
        const first = await bench.service.redeem(tracker, id, 'one');
        const sealed = sample === 'form' || sample === 'once' ? { sealed: 'sealed result' } : {};
        const elicitation = { ...end, redeemedAt: bench.clock.now() };
        expect(first).toEqual({ elicitation, ...sealed, isFirst: true });
        bench.clock.advance(1);
        expect(await bench.service.redeem(tracker, id, 'one')).toEqual({ ...first, isFirst: false });
        for (const name of ['two', '', 'ONE'])
          await expect(bench.service.redeem(tracker, id, name)).rejects.toMatchObject({ code: 'already_redeemed' });
      });
      expect(audits).toEqual([{ type: 'redeemed', elicitationId: id, mcpServerId, subject }]);
    },
  );

  test('one of two, and of many, concurrent redemptions gets the result', async () => {
    const bench = createBench();
    const { elicitationId: id } = await answered(bench, 'form');
    const calls = Array.from({ length: 50 }, (_, nth) => bench.service.redeem(tracker, id, `name-${nth % 25}`));
    const results = await Promise.allSettled(calls);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(bench.audits.filter(({ type }) => type === 'redeemed')).toHaveLength(1);
  });

  test('unknown and foreign ids get the same error, and nothing is redeemed', async () => {
    const bench = createBench();
    const { elicitationId: id } = await answered(bench, 'form');
    const unknown = newElicitationId(shardOf(alice), systemEntropy);
    for (const call of [bench.service.redeem(calendar, id, 'x'), bench.service.redeem(tracker, unknown, 'x')])
      await expect(call).rejects.toMatchObject({ code: 'not_found', message: 'No such elicitation.' });
    expect(await bench.service.redeem(tracker, id, 'one')).toMatchObject({ isFirst: true });
  });

  test.each(redeemable)('refuses to redeem an elicitation that is not completed: %s', async sample => {
    const bench = createBench();
    const { elicitationId: id } = sample === 'payment' ? await charging(bench) : await asked(bench, sample);
    await expect(bench.service.redeem(tracker, id, 'x')).rejects.toMatchObject({ code: 'not_redeemable' });
    if (sample !== 'payment') {
      await bench.service.decline(id, person);
      await expect(bench.service.redeem(tracker, id, 'x')).rejects.toMatchObject({ code: 'not_redeemable' });
    }
    expect(bench.audits.map(({ type }) => type)).not.toContain('redeemed');
  });

  test('refuses to redeem a connection or a lasting credential', async () => {
    const bench = createBench();
    const { elicitationId } = await bench.at('completed');
    const lasting = await answered(bench, 'lasting');
    for (const id of [elicitationId, lasting.elicitationId])
      await expect(bench.service.redeem(tracker, id, 'x')).rejects.toMatchObject({ code: 'not_redeemable' });
  });

  test('a result can be redeemed immediately after the answer', async () => {
    const bench = createBench();
    const before = await asked(bench, 'confirmation');
    const [, early] = await Promise.allSettled([
      answer(bench, before, 'confirmation'),
      bench.service.redeem(tracker, before.elicitationId, 'one'),
    ]);
    const again = await bench.service.redeem(tracker, before.elicitationId, 'one');
    expect(again.isFirst).toBe(early.status === 'rejected');
  });
});
