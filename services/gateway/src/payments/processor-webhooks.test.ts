import { describe, expect, test } from 'vitest';
import { createPaymentBench } from '../testing/payment-bench.ts';
import { ProcessorWebhooks } from './processor-webhooks.ts';

async function createWebhookBench() {
  const bench = await createPaymentBench();
  const { scripted, stage, flow } = bench;
  const webhooks = new ProcessorWebhooks({ ...stage, paymentFlow: flow });
  return {
    ...bench,
    receive(event: Parameters<typeof scripted.calls>[0]): Promise<boolean> {
      scripted.calls(event);
      return webhooks.handle(scripted.processor, { body: new Uint8Array(), headers: {} });
    },
  };
}

describe('a webhook', () => {
  test('makes the gateway ask the processor, and completes the payment once however often it is repeated', async () => {
    const bench = await createWebhookBench();
    const reference = await bench.opened();
    expect(await bench.receive({ reference, elicitationId: bench.approved.elicitationId })).toBe(true);
    expect(await bench.status()).toBe('active');
    bench.scripted.pay(reference);
    for (let n = 0; n < 3; n += 1)
      expect(await bench.receive({ reference, elicitationId: bench.approved.elicitationId })).toBe(true);
    expect(await bench.status()).toBe('completed');
    expect(bench.refunds()).toEqual([]);
  });

  test('fails if the processor does not report the status, so that the processor repeats the webhook', async () => {
    const bench = await createWebhookBench();
    const reference = await bench.opened();
    bench.scripted.pay(reference);
    bench.scripted.failsNext('status');
    expect(await bench.receive({ reference, elicitationId: bench.approved.elicitationId })).toBe(false);
    expect(await bench.receive({ reference, elicitationId: bench.approved.elicitationId })).toBe(true);
    expect(await bench.status()).toBe('completed');
  });

  test('about another paid charge completes nothing, and reports a refund', async () => {
    const bench = await createWebhookBench();
    await bench.opened();
    const other = await bench.approve('order-2');
    await bench.flow.open(other);
    const [, stray = ''] = bench.scripted.references();
    bench.scripted.pay(stray);
    expect(await bench.receive({ reference: stray, elicitationId: bench.approved.elicitationId })).toBe(true);
    expect(await bench.status()).toBe('active');
    expect(bench.refunds()).toMatchObject([{ processorReference: `pi_${stray}`, reason: 'active' }]);
  });

  test.each(['counted', 'mismatch'] as const)(
    'S68: reports no second refund when it is repeated after the elicitation was deleted (%s)',
    async note => {
      const bench = await createWebhookBench();
      const reference = await bench.opened();
      bench.scripted.pay(reference, note === 'mismatch' ? { minorUnits: 1 } : {});
      await bench.receive({ reference, elicitationId: bench.approved.elicitationId });
      const before = bench.refunds();
      expect(before).toHaveLength(note === 'mismatch' ? 1 : 0);
      bench.stage.clock.advance(3 * 24 * 3_600_000);
      expect(await bench.stage.service.find(bench.approved.elicitationId)).toBeUndefined();
      expect(await bench.receive({ reference, elicitationId: bench.approved.elicitationId })).toBe(true);
      expect(bench.refunds()).toEqual(before);
    },
  );

  test('S68: reports a payment of a deleted elicitation once', async () => {
    const bench = await createWebhookBench();
    const reference = await bench.opened();
    await bench.flow.cancel(await bench.current());
    bench.scripted.pay(reference);
    bench.stage.clock.advance(2 * 24 * 3_600_000);
    for (let n = 0; n < 3; n += 1) await bench.receive({ reference, elicitationId: bench.approved.elicitationId });
    expect(bench.refunds()).toMatchObject([{ processorReference: `pi_${reference}`, reason: 'unknown_elicitation' }]);
  });

  test('S68: is ignored if the charge names no gateway and an unknown elicitation', async () => {
    const bench = await createWebhookBench();
    const reference = await bench.opened();
    bench.scripted.pay(reference);
    const elicitationId = bench.approved.elicitationId.replace(/.{4}$/, 'AAAA');
    const asked = bench.scripted.asked.length;
    expect(await bench.receive({ reference, elicitationId, namesGateway: false })).toBe(true);
    expect(bench.refunds()).toEqual([]);
    expect(bench.scripted.asked).toHaveLength(asked);
  });

  test('about an unknown elicitation and an unpaid charge reports nothing', async () => {
    const bench = await createWebhookBench();
    const reference = await bench.opened();
    for (const about of ['x', bench.approved.elicitationId.replace(/.{4}$/, 'AAAA')])
      expect(await bench.receive({ reference, elicitationId: about })).toBe(true);
    expect(bench.refunds()).toEqual([]);
  });
});
