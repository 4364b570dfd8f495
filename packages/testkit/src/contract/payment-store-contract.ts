import { type Elicitation, type ElicitationId, type Refund, shardIn, shardOf } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { crowd, eventsOf, suite } from './contract-stores.ts';
import { answer, approve, askFor, charge } from './kind-samples.ts';
import { created, MINUTE, moved, operation, somebody } from './samples.ts';

/** PaymentStore: records of payments that outlive their elicitations. */
export const describePaymentStore = suite('payments', stores => {
  const charging = async () =>
    moved(stores.elicitations, await created(stores.elicitations, askFor('payment', somebody())), approve, charge);
  const noted = ({ elicitationId }: Pick<Elicitation, 'elicitationId'>, reference = 'pi_1') =>
    stores.payments.read(elicitationId, reference);

  test('stores a completed payment in the commit that completes its elicitation', async () => {
    const current = await charging();
    expect(await noted(current)).toBeUndefined();
    await moved(stores.elicitations, current, answer(current));
    expect(await noted(current)).toBe('counted');
    expect(await noted(current, 'pi_2')).toBeUndefined();
  });

  test('stores no payment of a superseded transition', async () => {
    const current = await charging();
    await moved(stores.elicitations, current, { events: ['decline'], next: { status: 'declined' } });
    const late = { current, operationId: operation(), ...answer(current) };
    expect(await stores.elicitations.transition(late)).toMatchObject({ result: 'conflict' });
    expect(await noted(current)).toBeUndefined();
  });

  const paid = async () => {
    const current = await charging();
    await moved(stores.elicitations, current, answer(current));
    const [payment] = await stores.payments.list(current.elicitationId);
    if (payment === undefined) throw new Error('the payment is not stored');
    return payment;
  };
  const refund: Refund = {
    refundId: 'rf_1',
    minorUnits: 50,
    status: 'pending',
    requestedBy: 'mcp_server',
    createdAt: 1_000,
    reason: 'damaged "box" 👩‍👩‍👧',
    fingerprint: 'print',
  };

  test('stores the facts of a payment in the commit that completes its elicitation', async () => {
    const payment = await paid();
    expect(payment).toMatchObject({
      version: 1,
      mcpServerId: 'issue-tracker',
      processor: 'stripe',
      processorReference: 'pi_1',
      amount: { currency: 'EUR', minorUnits: 1_050 },
      completes: true,
      refunds: [],
      disputes: [],
    });
    expect(payment.paidAt).toBe(stores.clock.now());
  });

  test('S116: commits one of many changes that were decided on the same version', async () => {
    const payment = await paid();
    const results = await crowd(nth =>
      stores.payments.put({ payment: { ...payment, refunds: [{ ...refund, refundId: `rf_${nth}` }] } }),
    );
    expect(results.filter(result => result === 'committed')).toHaveLength(1);
    const [after] = await stores.payments.list(payment.elicitationId);
    expect(after).toMatchObject({ version: 2, paidAt: payment.paidAt, refunds: [{ minorUnits: 50 }] });
  });

  test('stores every member of refunds and disputes, and announces the change once, after the events before it', async () => {
    const payment = await paid();
    const refunds: Refund[] = [
      refund,
      { ...refund, refundId: 'rf_2', status: 'failed', processorReference: 're_2', failure: 'lost_or_stolen_card' },
    ];
    const claimed = { currency: 'USD', minorUnits: 1_140 };
    const disputes = [{ processorReference: 'du_1', ...claimed, status: 'open' as const, createdAt: 2_000 }];
    const change = { payment: { ...payment, refunds, disputes }, announces: 'payment.disputed' as const };
    expect(await stores.payments.put(change)).toBe('committed');
    expect(await stores.payments.put(change)).toBe('conflict');
    expect(await stores.payments.list(payment.elicitationId)).toEqual([{ ...payment, version: 2, refunds, disputes }]);
    const own = await eventsOf(stores, payment);
    expect(own.at(-1)).toEqual({
      eventId: `ev_${payment.elicitationId.slice(3)}.1000002`,
      type: 'payment.disputed',
      elicitationId: payment.elicitationId,
      mcpServerId: 'issue-tracker',
      kind: 'payment',
    });
    expect(own.filter(({ type }) => type === 'payment.disputed')).toHaveLength(1);
    expect(await noted({ elicitationId: payment.elicitationId })).toBe('counted');
  });

  test('lists the payments of a person by pages, newest first, apart from those that an application vouched for', async () => {
    const person = somebody();
    const pay = async (identityMode: 'login' | 'external') => {
      const asked = { ...askFor('payment', person), coalescingDigest: operation() };
      const pending = await created(stores.elicitations, {
        ...asked,
        elicitation: { ...asked.elicitation, identityMode },
      });
      stores.clock.advance(1);
      const current = await moved(stores.elicitations, pending, approve, charge);
      return (await moved(stores.elicitations, current, answer(current))).elicitationId;
    };
    const list = (voucher?: string, skip = 0, limit = 10) =>
      stores.payments.listPaid({ subject: person, voucher, skip, limit });
    expect(await list()).toEqual([]);
    const [first, vouched, second, third] = [
      ...[await pay('login'), await pay('external'), await pay('login'), await pay('login')],
    ];
    expect(await list()).toEqual([third, second, first]);
    expect(await list(undefined, 1, 1)).toEqual([second]);
    expect(await list(undefined, 3, 1)).toEqual([]);
    expect(await list('issue-tracker')).toEqual([vouched]);
    expect(await stores.payments.listPaid({ subject: somebody(), skip: 0, limit: 10 })).toEqual([]);
    await stores.payments.forgetPaid({ subject: person });
    expect([await list(), await list('issue-tracker')]).toEqual([[], [vouched]]);
    expect(first === undefined ? [] : await stores.payments.list(first)).toHaveLength(1);
  });

  test('adds an unexpected payment once, beside the one that completed the elicitation', async () => {
    const payment = await paid();
    const added = { ...payment, processorReference: 'pi_2', completes: false, paidAt: 0 };
    expect(await stores.payments.put({ payment: added })).toBe('committed');
    expect(await stores.payments.put({ payment: { ...added, version: 2 } })).toBe('conflict');
    const stored = await stores.payments.list(payment.elicitationId);
    expect(stored.map(({ processorReference, completes }) => [processorReference, completes]).sort()).toEqual([
      ['pi_1', true],
      ['pi_2', false],
    ]);
    expect(stored.map(({ paidAt }) => paidAt)).toEqual([stores.clock.now(), stores.clock.now()]);
  });

  const isRefundCheckDue = async (elicitationId: ElicitationId) =>
    (await stores.payments.dueChecks(shardIn(elicitationId), 1_000)).some(
      check => check.elicitationId === elicitationId && check.of === 'refunds',
    );

  test('a pending refund is checked after its delay, until it is settled', async () => {
    const payment = await paid();
    const { elicitationId } = payment;
    const isDue = () => isRefundCheckDue(elicitationId);
    await stores.payments.put({ payment: { ...payment, refunds: [refund] } });
    expect(await isDue()).toBe(false);
    stores.clock.advance(MINUTE);
    expect(await isDue()).toBe(true);
    await stores.payments.put({ payment: { ...payment, version: 2, refunds: [{ ...refund, status: 'succeeded' }] } });
    expect(await isDue()).toBe(false);
  });

  test('S162: a pending refund stays due while other refunds and payments of its elicitation change', async () => {
    const payment = await paid();
    const { elicitationId } = payment;
    const isDue = () => isRefundCheckDue(elicitationId);
    const other = { ...payment, processorReference: 'pi_2', completes: false, paidAt: 0 };
    await stores.payments.put({ payment: { ...payment, refunds: [refund] }, checkAfterMs: 0 });
    expect(await isDue()).toBe(true);
    const further = { ...refund, refundId: 'rf_2' };
    await stores.payments.put({ payment: { ...payment, version: 2, refunds: [refund, further] } });
    expect(await isDue()).toBe(true);
    await stores.payments.put({ payment: { ...other, version: 3 } });
    await stores.payments.dropCheck(elicitationId, 'refunds');
    expect(await isDue()).toBe(true);
    const settled: Refund = { ...refund, status: 'succeeded', reason: '"status":"pending"' };
    await stores.payments.put({ payment: { ...payment, version: 4, refunds: [settled] } });
    expect(await isDue()).toBe(false);
  });

  test('stores no payment of a confirmation', async () => {
    const current = await created(stores.elicitations, askFor('confirmation', somebody()));
    await moved(stores.elicitations, current, answer(current));
    expect(await noted(current, '')).toBeUndefined();
  });

  test('lists a payment after its delay, oldest first, until it is postponed or dropped', async () => {
    const person = somebody();
    const [first, second] = [askFor('payment', person).elicitation, askFor('payment', person).elicitation];
    const due = async () => {
      const ours: readonly string[] = [first.elicitationId, second.elicitationId];
      const found = await stores.payments.dueChecks(shardOf(person), 1_000);
      return found
        .filter(check => ours.includes(check.elicitationId) && check.of === 'charge')
        .map(check => check.elicitationId);
    };
    await stores.payments.checkLater(second.elicitationId, 'charge', 2 * MINUTE);
    await stores.payments.checkLater(first.elicitationId, 'charge', MINUTE);
    expect(await due()).toEqual([]);
    stores.clock.advance(MINUTE);
    expect(await due()).toEqual([first.elicitationId]);
    stores.clock.advance(MINUTE);
    expect(await due()).toEqual([first.elicitationId, second.elicitationId]);
    await stores.payments.checkLater(first.elicitationId, 'charge', 1);
    const within = await Promise.all([0, 1].map(ms => stores.payments.dueChecks(shardOf(person), 1_000, ms)));
    expect(within.map(found => found.some(check => check.elicitationId === first.elicitationId))).toEqual([
      false,
      true,
    ]);
    stores.clock.advance(1);
    const limited = await stores.payments.dueChecks(shardOf(person), 1);
    expect(limited.filter(({ of }) => of === 'charge')).toHaveLength(1);
    await stores.payments.checkLater(first.elicitationId, 'charge', MINUTE);
    expect(await due()).toEqual([second.elicitationId]);
    await stores.payments.dropCheck(second.elicitationId, 'charge');
    await stores.payments.dropCheck(second.elicitationId, 'charge');
    stores.clock.advance(MINUTE);
    expect(await due()).toEqual([first.elicitationId]);
  });

  test('stores a reported payment, but never replaces a completed one', async () => {
    const current = await charging();
    await crowd(() => stores.payments.recordReported(current.elicitationId, 'pi_other'));
    expect(await noted(current, 'pi_other')).toBe('reported');
    await moved(stores.elicitations, current, answer(current));
    await stores.payments.recordReported(current.elicitationId, 'pi_1');
    expect(await noted(current)).toBe('counted');
    expect(await noted(current, 'pi_other')).toBe('reported');
  });
});
