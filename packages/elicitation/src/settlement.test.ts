import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import { type Elicitation, isPaidBy } from './elicitation.ts';
import type { Settlement } from './elicitation-service.ts';
import { approve, expectUnchanged, unknownId } from './testing/approval-bench.ts';
import { answered, approval, asked, chargeAt, charging, requests } from './testing/kind-bench.ts';
import { createServiceBench } from './testing/service-bench.ts';

function createBench() {
  const clock = createFakeClock();
  return createServiceBench(createSqliteStores({ path: ':memory:', now: clock.now }), clock);
}
type Bench = ReturnType<typeof createBench>;

describe('settle', () => {
  const paid: Settlement = { result: 'paid', processorReference: 'pi_1' };
  const settle = ({ service }: Bench, { elicitationId }: Elicitation, attempt: string, settlement: Settlement) =>
    service.settle(elicitationId, attempt, settlement);

  const outcomes: { settlement: Settlement; early: object; late: object; audit: object }[] = [
    { settlement: paid, early: { status: 'completed' }, late: { status: 'completed' }, audit: { type: 'completed' } },
    ...(['decline', 'cancel'] as const).map(as => {
      const status = as === 'decline' ? ('declined' as const) : ('cancelled' as const);
      return {
        settlement: { result: 'closed', as } as const,
        early: { status },
        late: { status },
        audit: { type: status },
      };
    }),
    ...(['retry', 'expire'] as const).map(as => ({
      settlement: { result: 'closed', as } as const,
      early: { status: 'pending', retryReason: 'payment_not_finished' },
      late: { status: 'expired' },
      audit: { type: 'returned', retryReason: 'payment_not_finished' },
    })),
    ...(
      [
        ['refused', 'processor_refused'],
        ['mismatch', 'payment_mismatch'],
      ] as const
    ).map(([result, failure]) => {
      const failed = { status: 'failed', failure };
      return { settlement: { result }, early: failed, late: failed, audit: { type: 'failed', failure } };
    }),
  ];

  test.each(outcomes)('$settlement in time: $early', async ({ settlement, early, audit }) => {
    const bench = createBench();
    const before = await charging(bench);
    bench.clock.set(before.expiresAt - 1);
    const audits = await bench.audited(async () => {
      expect(await settle(bench, before, before.attempt, settlement)).toMatchObject({ ...early, version: 3 });
    });
    expect(audits).toMatchObject([audit]);
  });

  test.each(outcomes)('$settlement after expiry: $late', async ({ settlement, late }) => {
    const bench = createBench();
    const before = await charging(bench);
    // The processor has no charge for a payment that it refuses.
    const isCharged = settlement.result !== 'refused';
    if (isCharged) await bench.service.recordCharge(before.elicitationId, before.attempt, chargeAt);
    bench.clock.set(before.expiresAt);
    const version = isCharged ? 4 : 3;
    const audits = await bench.audited(async () => {
      expect(await settle(bench, before, before.attempt, settlement)).toMatchObject({ ...late, version });
    });
    expect(audits).toHaveLength(1);
    expect(await bench.announced(before)).toHaveLength(version);
  });

  test('refused changes nothing after another replica recorded the charge, and paid still completes', async () => {
    const bench = createBench();
    const before = await charging(bench);
    const noted = await bench.service.recordCharge(before.elicitationId, before.attempt, chargeAt);
    const audits = await bench.audited(async () => {
      expect(await settle(bench, before, before.attempt, { result: 'refused' })).toEqual(noted);
    });
    expect(audits).toEqual([]);
    expect(await bench.announced(noted)).toHaveLength(noted.version);
    expect(await settle(bench, before, before.attempt, paid)).toMatchObject({ status: 'completed' });
  });

  test('a refusal that races with the recorded charge never fails an elicitation whose user may pay', async () => {
    for (const order of [0, 1]) {
      const bench = createBench();
      const before = await charging(bench);
      const note = () => bench.service.recordCharge(before.elicitationId, before.attempt, chargeAt);
      const refuse = () => settle(bench, before, before.attempt, { result: 'refused' });
      const [first] = await Promise.allSettled((order === 0 ? [note, refuse] : [refuse, note]).map(act => act()));
      expect(first?.status).toBe('fulfilled');
      expect(await bench.service.find(before.elicitationId)).toMatchObject(
        order === 0 ? { status: 'active', charge: chargeAt } : { status: 'failed', failure: 'processor_refused' },
      );
    }
  });

  test('paid: the outcome contains the approved terms and the reference of the processor', async () => {
    const bench = createBench();
    const { digest, kind } = requests.payment;
    const outcome = { kind, digest, approval, processor: 'stripe', processorReference: 'pi_1' };
    const end = await answered(bench, 'payment');
    expect(end).toMatchObject({ status: 'completed', outcome });
    expect(isPaidBy(end, 'pi_1')).toBe(true);
    expect(isPaidBy(end, 'pi_2')).toBe(false);
  });

  test.each(outcomes)('a repeat of $settlement returns the stored record', async ({ settlement }) => {
    const bench = createBench();
    const before = await charging(bench);
    const first = await settle(bench, before, before.attempt, settlement);
    const audits = await bench.audited(async () => {
      expect(await settle(bench, before, before.attempt, settlement)).toEqual(first);
    });
    expect(audits).toEqual([]);
  });

  test.each(outcomes.slice(1))(
    'money that arrives after $settlement is distinguished from money that counted',
    async ({ settlement }) => {
      const bench = createBench();
      const before = await charging(bench);
      const closed = await settle(bench, before, before.attempt, settlement);
      const after = await settle(bench, before, before.attempt, paid);
      expect(after).toEqual(closed);
      expect(isPaidBy(after, 'pi_1')).toBe(false);
    },
  );

  test('a payment for a closed attempt does not count for the next one', async () => {
    const bench = createBench();
    const first = await charging(bench);
    await settle(bench, first, first.attempt, { result: 'closed', as: 'retry' });
    const second = await approve(bench, first, 'payment');
    expect(second).toMatchObject({ status: 'active', version: 4 });
    if (second.status !== 'active') throw new Error('Not charging.');
    expect(second.attempt).not.toBe(first.attempt);
    expect(await settle(bench, first, first.attempt, paid)).toEqual(second);
    const other = { result: 'paid', processorReference: 'pi_2' } as const;
    const end = await settle(bench, second, second.attempt, other);
    expect([isPaidBy(end, 'pi_2'), isPaidBy(await settle(bench, first, first.attempt, paid), 'pi_1')]).toEqual([
      true,
      false,
    ]);
  });

  test('the first of concurrent paid and closed counts, and every caller gets its result', async () => {
    for (const order of [0, 1]) {
      const bench = createBench();
      const before = await charging(bench);
      const settlements: Settlement[] = [paid, { result: 'closed', as: 'expire' }, { result: 'closed', as: 'decline' }];
      if (order === 1) settlements.reverse();
      const ends = await Promise.all(
        Array.from({ length: 48 }, (_, nth) =>
          settle(bench, before, before.attempt, settlements[nth % settlements.length] ?? paid),
        ),
      );
      expect(new Set(ends.map(end => JSON.stringify(end))).size).toBe(1);
      expect(isPaidBy(ends[0] ?? before, 'pi_1')).toBe(order === 0);
      expect(bench.audits).toHaveLength(3);
    }
  });

  test('refuses to settle another kind, and finds no unknown elicitation', async () => {
    const bench = createBench();
    const form = await asked(bench, 'form');
    await expectUnchanged(bench, form, () => settle(bench, form, '', paid), { code: 'illegal_transition' });
    await expect(bench.service.settle(unknownId, '', paid)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('settling an elicitation without an approval changes nothing', async () => {
    const bench = createBench();
    const before = await asked(bench, 'payment');
    for (const { settlement } of outcomes) expect(await settle(bench, before, '', settlement)).toEqual(before);
  });
});
