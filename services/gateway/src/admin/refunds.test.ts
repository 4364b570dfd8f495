import { type Payment, type PaymentChange, StoreUnavailableError } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { problemOf } from '../platform/http/problems.ts';
import { createPaymentBench, createRefundBench, failureOf, PAYMENT } from '../testing/payment-bench.ts';
import { samplePseudonyms } from '../testing/sample-config.ts';
import type { Actor, OperatorAct } from './admin-audit.ts';
import { createRefunds, type RefundAsk, type RefundsDeps, refusalText } from './refunds.ts';

type Act = OperatorAct & Pick<Actor, 'who' | 'reason'>;

/** Operators beside the payments of a bench. They have no processor: the check of the bench is a replica that has. */
function operatorsAt({ stage }: Pick<Awaited<ReturnType<typeof createPaymentBench>>, 'stage'>) {
  const acts: Act[] = [];
  const deps: RefundsDeps = {
    config: stage.config,
    stores: stage.stores as unknown as RefundsDeps['stores'],
    pseudonym: samplePseudonyms,
    async record({ who, reason }, act) {
      acts.push({ ...act, who, ...(reason === undefined ? {} : { reason }) });
    },
    now: stage.clock.now,
  };
  return { acts, deps, admin: createRefunds(deps) };
}

async function createBench() {
  const bench = await createRefundBench();
  const { acts, deps, admin } = operatorsAt(bench);
  const { elicitationId } = bench;
  const start = (ask: RefundAsk & { plan?: string } = {}, reason = 'ticket 7', who = 'olga') =>
    admin.startRefund({ who, door: 'console', reason }, elicitationId, ask);
  return {
    ...bench,
    acts,
    deps,
    admin,
    start,
    async plan(ask: RefundAsk = {}) {
      const plan = await admin.planRefund(elicitationId, ask);
      if (plan === undefined) throw new Error('there is no plan');
      return plan;
    },
    isDue: async () =>
      (await bench.stage.stores.payments.dueChecks(elicitationId.slice(3, 5) as never, 10)).some(
        due => due.elicitationId === elicitationId && due.of === 'refunds',
      ),
    /** A replica, at once. */
    gateway: () => bench.stage.refunds.check(elicitationId),
  };
}

describe('S162: the refund of an operator is made once', () => {
  test('by a replica of the gateway, which has it to do at once', async () => {
    const bench = await createBench();
    expect(await bench.start({ minorUnits: 490 })).toMatchObject({
      minorUnits: 490,
      status: 'pending',
      currency: 'EUR',
    });
    expect(bench.scripted.asked.filter(({ verb }) => verb === 'refund')).toEqual([]);
    expect(await bench.isDue()).toBe(true);
    await bench.gateway();
    expect(bench.atProcessor()).toMatchObject([{ minorUnits: 490 }]);
    expect(await bench.start({ minorUnits: 490 })).toMatchObject({ status: 'succeeded', requestedBy: 'operator' });
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
  });

  test('for many repeats of the same amount and reason, by whom and where ever', async () => {
    const bench = await createBench();
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => bench.start({ minorUnits: 500 }, 'ticket 7', `operator-${nth % 2}`)),
    );
    expect(new Set(started.map(refund => refund?.refundId)).size).toBe(1);
    await bench.gateway();
    await bench.start({ minorUnits: 500 });
    await bench.gateway();
    expect(bench.atProcessor()).toHaveLength(1);
  });

  test('also after the secret of the gateway was replaced', async () => {
    const bench = await createBench();
    await bench.start({ minorUnits: 500 });
    const vault = { ...bench.deps.config.vault, transactionKey: new Uint8Array(32).fill(9) };
    const { startRefund } = createRefunds({ ...bench.deps, config: { ...bench.deps.config, vault } });
    const actor = { who: 'olga', door: 'console', reason: 'ticket 7' } as const;
    await startRefund(actor, bench.elicitationId, { minorUnits: 500 });
    expect((await bench.payment()).refunds).toHaveLength(1);
  });

  test('and again only for another reason, or after it has failed', async () => {
    const bench = await createBench();
    bench.scripted.failsNext('refund', 'refused');
    await bench.start({ minorUnits: 500 });
    await bench.gateway();
    expect((await bench.payment()).refunds).toMatchObject([{ status: 'failed' }]);
    for (const reason of ['ticket 7', 'ticket 7', 'ticket 8']) {
      await bench.start({ minorUnits: 500 }, reason);
      await bench.gateway();
    }
    expect(bench.atProcessor().map(({ minorUnits }) => minorUnits)).toEqual([500, 500]);
  });

  test.each(['failsNext', 'losesNext'] as const)('after a reservation whose commit %s', async fault => {
    const bench = await createBench();
    const { payments } = bench.stage.stores;
    const put = payments.put.bind(payments);
    payments.put = async (change: PaymentChange) => {
      payments.put = put;
      if (fault === 'losesNext') await put(change);
      throw new StoreUnavailableError();
    };
    expect(await failureOf(bench.start())).toBe('store_unavailable');
    await bench.start();
    await bench.gateway();
    expect(bench.atProcessor()).toMatchObject([{ minorUnits: 2490 }]);
  });

  test('by another replica, after the first was killed before or after the processor had it', async () => {
    for (const fault of ['failsNext', 'losesNext'] as const) {
      const bench = await createBench();
      bench.scripted[fault]('refund');
      await bench.start();
      await bench.gateway();
      expect((await bench.payment()).refunds).toMatchObject([{ status: 'pending' }]);
      await bench.sweep();
      await bench.sweep();
      expect(bench.atProcessor()).toHaveLength(1);
      expect((await bench.payment()).refunds).toMatchObject([{ status: 'succeeded' }]);
    }
  });
});

describe('a refund that the processor does not take', () => {
  test('stays reserved, is asked for again after an hour at most, and is made once after the repair', async () => {
    const bench = await createBench();
    await bench.start({ minorUnits: 490 });
    for (let days = 0; days < 3; days += 1) {
      expect(await bench.isDue()).toBe(true);
      bench.scripted.failsNext('refund');
      await bench.gateway();
      expect(await bench.isDue()).toBe(false);
      expect((await bench.plan()).payment).toMatchObject({
        refundedMinorUnits: 0,
        refundableMinorUnits: 2000,
        refunds: [expect.not.objectContaining({ processorReference: expect.anything() })],
      });
      bench.stage.clock.advance(days * 24 * 3_600_000);
      bench.scripted.failsNext('refund');
      await bench.gateway();
      bench.stage.clock.advance(3_600_000);
    }
    await bench.gateway();
    expect(bench.atProcessor()).toMatchObject([{ minorUnits: 490, status: 'succeeded' }]);
    expect((await bench.payment()).refunds).toMatchObject([{ status: 'succeeded' }]);
    expect(await bench.isDue()).toBe(false);
  });

  test('is made in addition to a part that is paid back in the dashboard', async () => {
    const bench = await createBench();
    await bench.start({ minorUnits: 490 });
    bench.scripted.refundsThere(PAYMENT, 490);
    await bench.gateway();
    expect(bench.atProcessor().map(({ minorUnits }) => minorUnits)).toEqual([490, 490]);
  });

  test('has failed, and counts no more, once the processor refuses it because everything was paid back in the dashboard', async () => {
    const bench = await createBench();
    await bench.start({ minorUnits: 490 });
    bench.scripted.refundsThere(PAYMENT, 2490);
    bench.scripted.failsNext('refund', 'refused');
    await bench.gateway();
    const { refunds } = await bench.payment();
    expect(refunds.map(({ requestedBy, status }) => [requestedBy, status])).toEqual([
      ['operator', 'failed'],
      ['processor', 'succeeded'],
    ]);
    expect((await bench.plan()).payment).toMatchObject({ refundedMinorUnits: 2490, refundableMinorUnits: 0 });
    expect(await bench.isDue()).toBe(false);
  });
});

describe('S163: refunds of operators and MCP servers never pay back more than was paid', () => {
  test('by both at the same time', async () => {
    const bench = await createBench();
    const results = await Promise.all([
      ...Array.from({ length: 6 }, (_, nth) => failureOf(bench.refund(`key-${nth}`, 500))),
      ...Array.from({ length: 6 }, (_, nth) => failureOf(bench.start({ minorUnits: 500 }, `ticket ${nth}`))),
    ]);
    expect(results.filter(result => result === 'succeeded')).toHaveLength(4);
    await bench.sweep();
    expect(bench.atProcessor().reduce((sum, { minorUnits }) => sum + minorUnits, 0)).toBe(2000);
  });

  test('MCP servers and operators cannot use up the refunds of each other', async () => {
    const bench = await createBench();
    for (let nth = 0; nth < 20; nth += 1) await bench.refund(`key-${nth}`, 1);
    expect(await failureOf(bench.refund('key-20', 1))).toBe('too_many_refunds');
    for (let nth = 0; nth < 20; nth += 1)
      expect(await failureOf(bench.start({ minorUnits: 1 }, `ticket ${nth}`))).toBe('succeeded');
    expect(await bench.plan()).toMatchObject({ refusal: 'too_many_refunds' });
  });

  test('a plan pays back its own amount of its own payment only', async () => {
    const [bench, other] = [await createBench(), await createBench()];
    const [first] = await bench.stage.stores.payments.list(bench.elicitationId);
    const late = { ...(first as Payment), processorReference: 'pi_late', completes: false, paidAt: 0 };
    await bench.stage.stores.payments.put({ payment: late });
    await other.refund('key', 1);
    const of = { minorUnits: 500, processorReference: PAYMENT };
    const { plan } = await bench.plan(of);
    expect(await failureOf(bench.start({ ...of, minorUnits: 501, plan }))).toBe('payment_changed');
    expect(await failureOf(bench.start({ ...of, processorReference: 'pi_late', plan }))).toBe('payment_changed');
    expect(await failureOf(other.start({ ...of, plan }))).toBe('payment_changed');
    expect(await failureOf(bench.start({ ...of, plan }))).toBe('succeeded');
  });

  test('of two operators with the same plan, only the first is paid, whatever the second wants', async () => {
    const bench = await createBench();
    const { plan } = await bench.plan({ minorUnits: 500 });
    const results = await Promise.all(
      ['ticket 7', 'ticket 8', 'ticket 9'].map(reason => failureOf(bench.start({ minorUnits: 500, plan }, reason))),
    );
    expect(results.sort()).toEqual(['payment_changed', 'payment_changed', 'succeeded']);
    // A double submit of the first form is no new refund.
    const [{ refundId } = { refundId: '' }] = (await bench.payment()).refunds;
    expect(await failureOf(bench.start({ minorUnits: 500, plan }, 'ticket 7'))).toBe('succeeded');
    expect((await bench.payment()).refunds.map(refund => refund.refundId)).toEqual([refundId]);
  });

  test('a refund of the MCP server outdates the plan', async () => {
    const bench = await createBench();
    const { plan } = await bench.plan();
    await bench.refund('key', 1);
    expect(await failureOf(bench.start({ minorUnits: 100, plan }))).toBe('payment_changed');
    expect(bench.atProcessor()).toHaveLength(1);
  });

  test.each([2491, 0, -1, 0.5, Number.NaN])('an amount of %d is refused, and nothing is recorded', async minorUnits => {
    const bench = await createBench();
    expect(await bench.plan({ minorUnits })).toMatchObject({ refusal: 'refund_exceeds_payment' });
    expect(await failureOf(bench.start({ minorUnits }))).toBe('refund_exceeds_payment');
    expect(bench.acts).toEqual([]);
    expect((await bench.payment()).refunds).toEqual([]);
  });

  test('everything means what is left when it is reserved', async () => {
    const bench = await createBench();
    await bench.refund('key', 490);
    expect(await bench.plan()).toMatchObject({
      minorUnits: 2000,
      leftMinorUnits: 0,
      payment: { refundedMinorUnits: 490 },
    });
    expect(await bench.start()).toMatchObject({ minorUnits: 2000 });
    expect(await failureOf(bench.start({}, 'ticket 8'))).toBe('refund_exceeds_payment');
  });

  test('a refusal says whether nothing is left', async () => {
    const bench = await createBench();
    const refusedAs = async (ask: { minorUnits?: number }) => {
      const { refusal, payment } = (await bench.plan(ask)) ?? {};
      return refusal && payment && refusalText(refusal, payment);
    };
    const tooMuch = await refusedAs({ minorUnits: 2491 });
    await bench.start();
    const nothing = await refusedAs({ minorUnits: 1 });
    expect(nothing).not.toBe(tooMuch);
    expect(await refusedAs({})).toBe(nothing);
    expect(nothing).toMatch(/refunded/);
    const problem = await bench.refund('key', 1).catch(problemOf);
    expect(problem).toMatchObject({ code: 'refund_exceeds_payment', detail: nothing });
  });

  test('a refund that is recorded with one amount is not made with another', async () => {
    const bench = await createBench();
    const { payments } = bench.stage.stores;
    const list = payments.list.bind(payments);
    const record = bench.deps.record;
    const { startRefund } = createRefunds({
      ...bench.deps,
      async record(...args) {
        await record(...args);
        payments.list = list;
        await bench.refund('between', 1000);
      },
    });
    const actor = { who: 'olga', door: 'console', reason: 'ticket 7' } as const;
    expect(await failureOf(startRefund(actor, bench.elicitationId))).toBe('payment_changed');
    expect(bench.acts).toMatchObject([{ minorUnits: 2490 }]);
    expect(bench.atProcessor().map(({ minorUnits }) => minorUnits)).toEqual([1000]);
  });

  test('a disputed payment is refused', async () => {
    const bench = await createBench();
    const claimed = { currency: 'USD', minorUnits: 2710 };
    bench.scripted.disputes(PAYMENT, { processorReference: 'du_1', ...claimed, status: 'open', createdAt: 1 });
    await bench.receive('disputes');
    expect(await bench.plan()).toMatchObject({
      refusal: 'payment_disputed',
      payment: { currency: 'EUR', disputes: [{ ...claimed, status: 'open' }] },
    });
    expect(await failureOf(bench.start())).toBe('payment_disputed');
  });

  test('one of many payments is named, and the others stay', async () => {
    const bench = await createBench();
    const [first] = await bench.stage.stores.payments.list(bench.elicitationId);
    const other = { ...(first as Payment), processorReference: 'pi_late', completes: false, paidAt: 0 };
    await bench.stage.stores.payments.put({ payment: { ...other, amount: { currency: 'EUR', minorUnits: 700 } } });
    expect((await bench.admin.payment(bench.elicitationId))?.payments.map(each => each.processorReference)).toEqual([
      ...[PAYMENT, 'pi_late'],
    ]);
    expect(await failureOf(bench.start())).toBe('invalid_request');
    expect(await failureOf(bench.start({ processorReference: 'pi_other' }))).toBe('not_found');
    expect(await bench.start({ processorReference: 'pi_late' })).toMatchObject({ minorUnits: 700 });
    const [completing] = await bench.stage.stores.payments.list(bench.elicitationId);
    expect(completing?.refunds).toEqual([]);
  });
});

describe('S164: who and why', () => {
  test('are recorded before anything happens, and without the record nothing happens', async () => {
    const bench = await createBench();
    const { startRefund } = createRefunds({
      ...bench.deps,
      async record() {
        throw new StoreUnavailableError();
      },
    });
    const actor = { who: 'olga', door: 'console', reason: 'ticket 7' } as const;
    expect(await failureOf(startRefund(actor, bench.elicitationId))).toBe('store_unavailable');
    expect((await bench.payment()).refunds).toEqual([]);
    await bench.start({ minorUnits: 490 });
    const [{ refundId } = { refundId: '' }] = (await bench.payment()).refunds;
    expect(bench.acts).toMatchObject([
      {
        event: 'admin.refund_started',
        who: 'olga',
        reason: 'ticket 7',
        refundId,
        minorUnits: 490,
        elicitationId: bench.elicitationId,
        processorReference: PAYMENT,
        currency: 'EUR',
        subject: bench.stage.subject,
      },
    ]);
  });

  test('are not told to the MCP server, which sees the refund and is notified of it', async () => {
    const bench = await createBench();
    await bench.start({ minorUnits: 490 }, 'suspicion of fraud', 'olga');
    await bench.gateway();
    const standing = await bench.stage.refunds.read(bench.stage.caller(), bench.elicitationId);
    expect(standing).toMatchObject({ payment: { refunds: [{ requestedBy: 'operator', minorUnits: 490 }] } });
    expect(JSON.stringify(standing)).not.toMatch(/fraud|olga/);
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
  });

  test('a viewer learns neither the person nor what the MCP server wrote', async () => {
    const bench = await createBench();
    await bench.refund('key', 490, 'Alice returned it');
    const seen = JSON.stringify([await bench.admin.payment(bench.elicitationId), await bench.plan()]);
    expect(seen).toContain(samplePseudonyms(bench.stage.subject));
    expect(seen).not.toContain(bench.stage.subject.subject);
    expect(seen).not.toContain('Alice');
  });

  test('cannot be guessed from the name of the refund, which the MCP server and the processor see', async () => {
    const bench = await createBench();
    /** The name that a gateway with this secret would choose. */
    async function nameWith(secret: number): Promise<string> {
      const names: string[] = [];
      const transactionKey = new Uint8Array(32).fill(secret);
      const { startRefund } = createRefunds({
        ...bench.deps,
        config: { ...bench.deps.config, vault: { ...bench.deps.config.vault, transactionKey } },
        async record(_, act) {
          if (act.event === 'admin.refund_started') names.push(act.refundId);
          throw new StoreUnavailableError();
        },
      });
      const actor = { who: 'olga', door: 'console', reason: 'ticket 7' } as const;
      await failureOf(startRefund(actor, bench.elicitationId));
      return names.join();
    }
    const [one, again, other] = [await nameWith(1), await nameWith(1), await nameWith(2)];
    expect(one).toMatch(/^rf_[\w-]{43}$/);
    expect([again === one, other === one]).toEqual([true, false]);
  });

  test('no key of an MCP server names the refund of an operator', async () => {
    const bench = await createBench();
    await bench.start({ minorUnits: 500 });
    const [{ refundId, fingerprint } = { refundId: '', fingerprint: '' }] = (await bench.payment()).refunds;
    const refund = await bench.refund(`0 ${fingerprint}`, 500, 'ticket 7');
    expect(refund.refundId).not.toBe(refundId);
    await bench.sweep();
    expect(bench.atProcessor()).toHaveLength(2);
  });
});

describe('S163: payments that are special', () => {
  test('of a processor that is not configured is refused', async () => {
    const bench = await createBench();
    const without = createRefunds({ ...bench.deps, config: { ...bench.deps.config, processors: [] } });
    expect(await without.planRefund(bench.elicitationId)).toMatchObject({ refusal: 'refund_not_possible' });
    const actor = { who: 'olga', door: 'console', reason: 'ticket 7' } as const;
    expect(await failureOf(without.startRefund(actor, bench.elicitationId))).toBe('refund_not_possible');
    expect(bench.acts).toEqual([]);
  });

  test('before the payment, and of another kind', async () => {
    const unpaid = await createPaymentBench();
    const { admin } = operatorsAt(unpaid);
    expect(await admin.payment(unpaid.approved.elicitationId)).toMatchObject({ status: 'active', payments: [] });
    expect(await failureOf(admin.planRefund(unpaid.approved.elicitationId))).toBe('payment_not_paid');
    const confirmation = await unpaid.stage.confirm();
    expect(await admin.payment(confirmation.elicitationId)).toBeUndefined();
    expect(await admin.planRefund(confirmation.elicitationId)).toBeUndefined();
  });

  test('whose elicitation and MCP server are gone', async () => {
    const bench = await createBench();
    const { admin } = operatorsAt(bench);
    const { elicitations } = bench.stage.stores;
    const read = elicitations.read.bind(elicitations);
    elicitations.read = async () => undefined;
    const actor = { who: 'olga', door: 'command_line', reason: 'ticket 7' } as const;
    const { payments } = (await admin.payment(bench.elicitationId)) ?? { payments: [] };
    expect(payments).toMatchObject([{ processorReference: PAYMENT }]);
    await admin.startRefund(actor, bench.elicitationId);
    elicitations.read = read;
    await bench.gateway();
    expect(bench.atProcessor()).toMatchObject([{ minorUnits: 2490 }]);
  });
});
