import { allEvents } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { createPaymentBench, failureOf } from '../testing/payment-bench.ts';
import { createWebhookHandler } from './processor-webhooks.ts';

const PAYMENT = 'pi_cs_1';

/** A payment of another amount than the user approved, at the processor. */
async function createUnexpected(refundUnexpected = true) {
  const bench = await createPaymentBench({ payment: { refundUnexpected } });
  const { stage, scripted, flow } = bench;
  scripted.pay(await bench.opened(), { minorUnits: 2400 });
  const { elicitationId } = bench.approved;
  const handleWebhook = createWebhookHandler({ ...stage, paymentFlow: flow });
  return {
    ...bench,
    elicitationId,
    /** A webhook about the charge. */
    async receive(): Promise<boolean> {
      scripted.calls({ reference: 'cs_1', elicitationId });
      return handleWebhook(scripted.processor, { body: new Uint8Array(), headers: {} });
    },
    async sweep(): Promise<void> {
      stage.clock.advance(3_600_000);
      await stage.refundFlow.check(elicitationId);
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
    await bench.stage.refundFlow.refund(bench.stage.caller(), bench.elicitationId, ask);
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
      bench.stage.refundFlow.refund(bench.stage.caller(), bench.elicitationId, {
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
    await bench.stage.refundFlow.unexpected(late);
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
    const handleWebhook = createWebhookHandler({ ...stage, paymentFlow: flow });
    scripted.calls({ reference, elicitationId, namesGateway });
    expect(await handleWebhook(scripted.processor, { body: new Uint8Array(), headers: {} })).toBe(true);
    expect(scripted.refundsOf(`pi_${reference}`)).toHaveLength(refunds);
    expect(bench.refunds()).toHaveLength(1 - refunds);
  });
});
