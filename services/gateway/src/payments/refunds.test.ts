import { shardIn } from '@postern/elicitation';
import { allEvents } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { createPaymentBench, createRefundBench, failureOf, PAYMENT } from '../testing/payment-bench.ts';
import { IMPOSSIBLE_REFUND } from '../testing/scripted-processor.ts';
import { ProcessorWebhooks } from './processor-webhooks.ts';

describe('S115: a refund is made once per key', () => {
  test('for many concurrent and repeated requests', async () => {
    const bench = await createRefundBench();
    const refunds = await Promise.all(Array.from({ length: 20 }, () => bench.refund('key', 500)));
    expect(new Set(refunds.map(({ refundId }) => refundId)).size).toBe(1);
    expect(await bench.refund('key', 500)).toMatchObject({ status: 'succeeded', minorUnits: 500 });
    expect(bench.atProcessor()).toHaveLength(1);
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
    expect(bench.stage.eventsNamed('payment.refund_requested')).toHaveLength(1);
  });

  test.each([
    ['no response of the processor, before the effect', 'processor', 'failsNext'],
    ['no response of the processor, after the effect', 'processor', 'losesNext'],
    ['a reservation that is not stored', 'store', 'failsNext', 1],
    ['a reservation whose reply is lost', 'store', 'losesNext', 1],
    ['a result that is not stored', 'store', 'failsNext', 2],
    ['a result whose reply is lost', 'store', 'losesNext', 2],
  ] as const)('after %s', async (_, where, fault, nth = 1) => {
    const bench = await createRefundBench();
    const { stage, scripted } = bench;
    if (where === 'processor') scripted[fault]('refund');
    else {
      const put = stage.stores.payments.put.bind(stage.stores.payments);
      let calls = 0;
      stage.stores.payments.put = async change => {
        calls += 1;
        if (calls !== nth) return put(change);
        if (fault === 'losesNext') await put(change);
        throw new Error('killed');
      };
    }
    await bench.refund('key', 500).catch(() => undefined);
    await bench.sweep();
    expect(await bench.refund('key', 500)).toMatchObject({ status: 'succeeded' });
    await bench.sweep();
    expect(bench.atProcessor()).toHaveLength(1);
    expect((await bench.payment()).refunds).toMatchObject([{ minorUnits: 500, status: 'succeeded' }]);
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
  });

  test('by the background check alone, which stops when nothing is pending', async () => {
    const bench = await createRefundBench();
    bench.scripted.failsNext('refund');
    expect(await bench.refund('key')).toMatchObject({ status: 'pending', minorUnits: 2490 });
    await bench.sweep();
    expect((await bench.payment()).refunds).toMatchObject([{ status: 'succeeded', processorReference: 're_1' }]);
    const asked = bench.scripted.asked.length;
    await bench.sweep();
    expect(bench.scripted.asked).toHaveLength(asked);
  });

  test('S182: by a check half a minute later if the due one found no place, however old the refund is', async () => {
    const bench = await createRefundBench();
    const { refunds, stores, clock } = bench.stage;
    const isDue = async () =>
      (await stores.payments.dueChecks(shardIn(bench.elicitationId), 10)).some(due => due.of === 'refunds');
    bench.scripted.failsNext('refund');
    await bench.refund('key');
    clock.advance(24 * 3_600_000);
    await refunds.check(bench.elicitationId, () => false);
    expect(await isDue()).toBe(false);
    clock.advance(30_000);
    expect(await isDue()).toBe(true);
    expect(bench.atProcessor()).toEqual([]);
    await refunds.check(bench.elicitationId);
    expect(bench.atProcessor()).toHaveLength(1);
  });

  test('and another request under its key is refused', async () => {
    const bench = await createRefundBench();
    await bench.refund('key', 500);
    expect(await failureOf(bench.refund('key', 501))).toBe('idempotency_key_reused');
    expect(await failureOf(bench.refund('key', 500, 'another reason'))).toBe('idempotency_key_reused');
    expect(await failureOf(bench.refund('key'))).toBe('idempotency_key_reused');
    expect(bench.atProcessor()).toHaveLength(1);
  });
});

describe('S116: never more than was paid is paid back', () => {
  test('by concurrent refunds under different keys', async () => {
    const bench = await createRefundBench();
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, nth) => failureOf(bench.refund(`key-${nth}`, 500))),
    );
    expect(results.filter(result => result === 'succeeded')).toHaveLength(4);
    expect(new Set(results)).toEqual(new Set(['succeeded', 'refund_exceeds_payment']));
    expect(bench.atProcessor().map(({ minorUnits }) => minorUnits)).toEqual([500, 500, 500, 500]);
  });

  test.each([2491, 0, -1, 0.5, Number.NaN, 999_999_999_999])('by an amount of %d', async minorUnits => {
    const bench = await createRefundBench();
    expect(await failureOf(bench.refund('key', minorUnits))).toBe('refund_exceeds_payment');
    expect(bench.scripted.asked.filter(({ verb }) => verb === 'refund')).toEqual([]);
  });

  test('a pending refund counts, a failed one does not', async () => {
    const bench = await createRefundBench();
    bench.scripted.refundsBeginAs('pending');
    expect(await bench.refund('first', 2000)).toMatchObject({ status: 'pending', processorReference: 're_1' });
    expect(await failureOf(bench.refund('second', 491))).toBe('refund_exceeds_payment');
    bench.scripted.refundBecomes('re_1', 'failed', 'expired_or_canceled_card');
    await bench.sweep();
    expect((await bench.payment()).refunds).toMatchObject([{ status: 'failed', failure: 'expired_or_canceled_card' }]);
    expect(await bench.eventsOf('payment.refund_failed')).toHaveLength(1);
    expect(await bench.refund('second')).toMatchObject({ minorUnits: 2490 });
  });

  test('a refund that the processor refuses has failed, and can be requested again', async () => {
    const bench = await createRefundBench();
    bench.scripted.failsNext('refund', 'refused');
    expect(await bench.refund('key', 500)).toMatchObject({ status: 'failed', failure: 'told_to' });
    expect(await bench.refund('key', 500)).toMatchObject({ status: 'failed' });
    expect(await bench.refund('another', 2490)).toMatchObject({ status: 'succeeded' });
  });

  test('before the payment is paid, of another MCP server, or in an amount that the processor cannot make', async () => {
    const unpaid = await createPaymentBench();
    const ask = { key: 'key', reason: 'r' };
    const { refunds } = unpaid.stage;
    const { elicitationId } = unpaid.approved;
    expect(await failureOf(refunds.refund(unpaid.stage.caller(), elicitationId, ask))).toBe('payment_not_paid');
    const bench = await createRefundBench();
    const stranger = { ...bench.stage.caller(), mcpServerId: 'another' };
    expect(await failureOf(bench.stage.refunds.refund(stranger, bench.elicitationId, ask))).toBe('not_found');
    expect(await failureOf(bench.stage.refunds.read(stranger, bench.elicitationId))).toBe('not_found');
    expect(await failureOf(bench.refund('key', IMPOSSIBLE_REFUND))).toBe('refund_not_possible');
    expect((await bench.payment()).refunds).toEqual([]);
  });
});

describe('S117: what happens at the processor', () => {
  test('a refund in its dashboard is recorded and announced once, and counts', async () => {
    const bench = await createRefundBench();
    bench.scripted.refundsThere(PAYMENT, 2000);
    for (let n = 0; n < 3; n += 1) expect(await bench.receive('refunds')).toBe(true);
    await Promise.all(Array.from({ length: 10 }, () => bench.receive('refunds')));
    expect((await bench.payment()).refunds).toMatchObject([{ requestedBy: 'processor', minorUnits: 2000 }]);
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
    expect(await failureOf(bench.refund('key', 491))).toBe('refund_exceeds_payment');
    expect(await bench.status()).toBe('completed');
  });

  test('a dispute is recorded and announced at each step, and forbids refunds while it is open or lost', async () => {
    const bench = await createRefundBench();
    const dispute = { processorReference: 'du_1', currency: 'EUR', minorUnits: 2490, createdAt: 1 };
    const becomes = async (status: 'inquiry' | 'open' | 'won' | 'lost') => {
      bench.scripted.disputes(PAYMENT, { ...dispute, status });
      expect(await bench.receive('disputes')).toBe(true);
      expect(await bench.receive('disputes')).toBe(true);
    };
    await becomes('inquiry');
    expect(await failureOf(bench.refund('small', 100))).toBe('succeeded');
    await becomes('open');
    expect(await failureOf(bench.refund('key', 100))).toBe('payment_disputed');
    await becomes('lost');
    expect(await failureOf(bench.refund('key', 100))).toBe('payment_disputed');
    await becomes('won');
    expect(await failureOf(bench.refund('key', 100))).toBe('succeeded');
    expect(await bench.eventsOf('payment.disputed')).toHaveLength(4);
    expect((await bench.payment()).disputes).toEqual([{ ...dispute, status: 'won' }]);
    expect(await bench.status()).toBe('completed');
  });

  test('a refused refund shows what happened at the processor: a refund there, a dispute', async () => {
    const refunded = await createRefundBench();
    refunded.scripted.refundsThere(PAYMENT, 2490);
    refunded.scripted.failsNext('refund', 'refused');
    expect(await refunded.refund('key', 500)).toMatchObject({ status: 'failed' });
    expect((await refunded.payment()).refunds).toMatchObject([
      { requestedBy: 'mcp_server', status: 'failed' },
      { requestedBy: 'processor', minorUnits: 2490, status: 'succeeded' },
    ]);
    expect(await failureOf(refunded.refund('another', 1))).toBe('refund_exceeds_payment');

    const disputed = await createRefundBench();
    const dispute = { processorReference: 'du_1', currency: 'EUR', minorUnits: 2490, createdAt: 1 };
    disputed.scripted.disputes(PAYMENT, { ...dispute, status: 'open' });
    disputed.scripted.failsNext('refund', 'refused');
    expect(await disputed.refund('key', 500)).toMatchObject({ status: 'failed' });
    expect(await failureOf(disputed.refund('another', 1))).toBe('payment_disputed');
    expect(await disputed.eventsOf('payment.disputed')).toHaveLength(1);
  });

  test.each(['refunds', 'disputes'] as const)(
    'a refused refund stays pending while the processor does not show the %s',
    async verb => {
      const bench = await createRefundBench();
      bench.scripted.failsNext('refund', 'refused');
      bench.scripted.failsNext(verb);
      expect(await bench.refund('key', 2490)).toMatchObject({ status: 'pending' });
      expect(await failureOf(bench.refund('another', 1))).toBe('refund_exceeds_payment');
      bench.scripted.failsNext('refund', 'refused');
      await bench.sweep();
      expect((await bench.payment()).refunds).toMatchObject([{ status: 'failed' }]);
    },
  );

  test('is asked for again if the processor does not respond', async () => {
    const bench = await createRefundBench();
    bench.scripted.refundsThere(PAYMENT, 2490);
    bench.scripted.failsNext('refunds');
    expect(await bench.receive('refunds')).toBe(false);
    expect(await bench.receive('refunds')).toBe(true);
    expect((await bench.payment()).refunds).toHaveLength(1);
  });

  test('a response that a webhook has overtaken replaces nothing', async () => {
    for (const status of ['succeeded', 'failed'] as const) {
      const bench = await createRefundBench();
      const { payments } = bench.stage.stores;
      const put = payments.put.bind(payments);
      let puts = 0;
      payments.put = async change => {
        puts += 1;
        if (puts === 2) {
          bench.scripted.refundBecomes('re_1', status);
          await bench.receive('refunds');
        }
        return put(change);
      };
      bench.scripted.refundsBeginAs('pending');
      expect(await bench.refund('key', 500)).toMatchObject({ status });
      await bench.sweep();
      expect((await bench.payment()).refunds).toMatchObject([{ status }]);
      const events = await allEvents(bench.stage.stores);
      expect(events.filter(({ type }) => type.startsWith('payment.refund'))).toHaveLength(1);
    }
  });

  test('a refund of another amount than ordered counts with what the processor has paid back', async () => {
    const bench = await createRefundBench();
    bench.scripted.refundsInstead(2000);
    expect(await bench.refund('key', 500)).toMatchObject({ minorUnits: 2000, status: 'succeeded' });
    expect(await failureOf(bench.refund('another', 491))).toBe('refund_exceeds_payment');
    const lost = await createRefundBench();
    lost.scripted.refundsInstead(2000);
    lost.scripted.losesNext('refund');
    expect(await lost.refund('key', 500)).toMatchObject({ minorUnits: 500, status: 'pending' });
    await lost.sweep();
    expect(await failureOf(lost.refund('another', 491))).toBe('refund_exceeds_payment');
  });

  test('an unknown payment, and one of another gateway, are ignored', async () => {
    const bench = await createRefundBench();
    bench.scripted.calls({ about: 'refunds', processorReference: 'pi_other', elicitationId: bench.elicitationId });
    bench.scripted.calls({ about: 'disputes', processorReference: PAYMENT, elicitationId: 'el_no' });
    const webhooks = new ProcessorWebhooks({ ...bench.stage, paymentFlow: bench.flow });
    for (let n = 0; n < 2; n += 1)
      expect(await webhooks.handle(bench.scripted.processor, { body: new Uint8Array(), headers: {} })).toBe(true);
    expect((await bench.payment()).version).toBe(1);
  });
});

/** A payment of another amount than the user approved, at the processor. */
async function createUnexpected(refundUnexpected = true) {
  const bench = await createPaymentBench({ payment: { refundUnexpected } });
  const { stage, scripted, flow } = bench;
  scripted.pay(await bench.opened(), { minorUnits: 2400 });
  const { elicitationId } = bench.approved;
  const webhooks = new ProcessorWebhooks({ ...stage, paymentFlow: flow });
  return {
    ...bench,
    elicitationId,
    /** A webhook about the charge. */
    async receive(): Promise<boolean> {
      scripted.calls({ reference: 'cs_1', elicitationId });
      return webhooks.handle(scripted.processor, { body: new Uint8Array(), headers: {} });
    },
    async sweep(): Promise<void> {
      stage.clock.advance(3_600_000);
      await stage.refunds.check(elicitationId);
    },
    payment: async () => (await stage.stores.payments.list(elicitationId)).at(0),
    atProcessor: () => scripted.refundsOf(PAYMENT),
    eventsOf: async (type: string) => (await allEvents(stage.stores)).filter(event => event.type === type),
  };
}

describe('S142, S143: a payment that completes no elicitation', () => {
  test('is paid back once, in full and by itself where the policy says so, however often it is reported', async () => {
    const bench = await createUnexpected();
    await Promise.all(Array.from({ length: 10 }, () => bench.receive()));
    await bench.receive();
    expect(await bench.status()).toBe('failed');
    expect(bench.atProcessor()).toMatchObject([{ minorUnits: 2400, status: 'succeeded' }]);
    expect(await bench.payment()).toMatchObject({
      completes: false,
      amount: { currency: 'EUR', minorUnits: 2400 },
      refunds: [{ requestedBy: 'gateway', reason: 'mismatch', minorUnits: 2400, status: 'succeeded' }],
    });
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
    expect(bench.stage.eventsNamed('payment.refund_requested')).toMatchObject([{ requestedBy: 'gateway' }]);
    expect(bench.stage.eventsNamed('payment.refunded')).toHaveLength(1);
    expect(bench.refunds()).toEqual([]);
  });

  test('is only reported by default, and can be refunded then', async () => {
    const bench = await createUnexpected(false);
    await bench.receive();
    await bench.receive();
    expect(bench.refunds()).toMatchObject([{ processorReference: PAYMENT, reason: 'mismatch' }]);
    expect(bench.atProcessor()).toEqual([]);
    expect(await bench.payment()).toMatchObject({ completes: false, refunds: [] });
    const ask = { key: 'mine', reason: 'unexpected' };
    await bench.stage.refunds.refund(bench.stage.caller(), bench.elicitationId, ask);
    expect(bench.atProcessor()).toMatchObject([{ minorUnits: 2400 }]);
  });

  test.each([
    ['the processor has not answered, before the effect', 'failsNext'],
    ['the response of the processor is lost', 'losesNext'],
  ] as const)('is paid back by a later check if %s', async (_, fault) => {
    const bench = await createUnexpected();
    bench.scripted[fault]('refund');
    expect(await bench.receive()).toBe(true);
    expect(await bench.payment()).toMatchObject({ refunds: [{ status: 'pending' }] });
    await bench.sweep();
    expect(await bench.payment()).toMatchObject({ refunds: [{ status: 'succeeded' }] });
    expect(bench.atProcessor()).toHaveLength(1);
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
  });

  test('is paid back after the webhook is repeated if the reply of the store is lost', async () => {
    const bench = await createUnexpected();
    bench.stage.losesNext(bench.stage.stores.payments, 'put');
    await expect(bench.receive()).rejects.toThrow(expect.objectContaining({ code: 'store_unavailable' }));
    expect(bench.atProcessor()).toEqual([]);
    expect(await bench.receive()).toBe(true);
    expect(bench.atProcessor()).toHaveLength(1);
    expect(await bench.eventsOf('payment.refunded')).toHaveLength(1);
  });

  test('is reported to the operator if the processor refuses the refund', async () => {
    const bench = await createUnexpected();
    bench.scripted.failsNext('refund', 'refused');
    await bench.receive();
    await bench.receive();
    expect(await bench.payment()).toMatchObject({ refunds: [{ status: 'failed' }] });
    expect(await bench.eventsOf('payment.refund_failed')).toHaveLength(1);
    expect(bench.refunds()).toMatchObject([{ reason: 'refund_failed', processorReference: PAYMENT }]);
    expect(bench.atProcessor()).toEqual([]);
  });

  test('S206: has a refund that no key of the MCP server names', async () => {
    const bench = await createUnexpected();
    bench.scripted.failsNext('refund', 'refused');
    await bench.receive();
    const [automatic] = (await bench.payment())?.refunds ?? [];
    const refund = (key: string) =>
      bench.stage.refunds.refund(bench.stage.caller(), bench.elicitationId, {
        key,
        minorUnits: 100,
        reason: 'mine',
      });
    for (const key of [
      'unexpected',
      'gateway',
      automatic?.refundId ?? '',
      '["gateway","unexpected"]',
      'gateway,unexpected',
    ])
      expect(await failureOf(refund(key))).toBe('succeeded');
    expect(new Set((await bench.payment())?.refunds.map(({ refundId }) => refundId)).size).toBe(6);
    await bench.receive();
    expect(bench.atProcessor()).toHaveLength(5);
  });

  test('is not paid back if it completed its elicitation', async () => {
    const bench = await createPaymentBench({ payment: { refundUnexpected: true } });
    bench.scripted.pay(await bench.opened());
    await bench.flow.check(await bench.current());
    const { elicitationId } = bench.approved;
    const status = await bench.scripted.processor.status('cs_1');
    if (status.state !== 'paid') throw new TypeError('not paid');
    const late = {
      elicitationId,
      elicitation: await bench.current(),
      processor: 'stripe-main',
      status,
      isOwn: true,
      reason: 'completed',
    };
    await bench.stage.refunds.recordUnexpected(late);
    expect(bench.scripted.refundsOf(PAYMENT)).toEqual([]);
    expect(bench.refunds()).toEqual([]);
  });

  test.each([
    ['this gateway opened the charge', true, 1],
    ['other software on the same account opened the charge, and names our elicitation', false, 0],
  ])('is paid back only by the gateway that opened its charge: %s', async (_, namesGateway, refunds) => {
    const bench = await createPaymentBench({ payment: { refundUnexpected: true } });
    const { scripted, stage, flow, approved } = bench;
    scripted.pay(await bench.opened());
    await flow.check(await bench.current());
    const { elicitationId, mcpServerId, request } = approved;
    const { reference } = await scripted.processor.open({
      key: 'theirs',
      terms: request.terms,
      digest: request.digest,
      elicitationId,
      mcpServerId,
      mcpServerName: 'Shop',
      returnUrl: 'https://shop.example',
      cancelUrl: 'https://shop.example',
    });
    scripted.pay(reference);
    const webhooks = new ProcessorWebhooks({ ...stage, paymentFlow: flow });
    scripted.calls({ reference, elicitationId, namesGateway });
    expect(await webhooks.handle(scripted.processor, { body: new Uint8Array(), headers: {} })).toBe(true);
    expect(scripted.refundsOf(`pi_${reference}`)).toHaveLength(refunds);
    expect(bench.refunds()).toHaveLength(1 - refunds);
  });
});
