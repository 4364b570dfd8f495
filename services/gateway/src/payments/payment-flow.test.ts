import { AlreadyEndedError } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { createPaymentBench } from '../testing/payment-bench.ts';
import { PaymentFlow } from './payment-flow.ts';
import { ProcessorWebhooks } from './processor-webhooks.ts';

describe('an approval opens one charge', () => {
  test('for many concurrent requests', async () => {
    const { flow, scripted, approved } = await createPaymentBench();
    const results = await Promise.all(Array.from({ length: 50 }, () => flow.open(approved)));
    expect(new Set(results.map(({ state }) => state))).toEqual(new Set(['open']));
    expect(scripted.references()).toHaveLength(1);
    expect(new Set(scripted.asked.map(({ of }) => of)).size).toBe(1);
  });

  test.each(['failsNext', 'losesNext'] as const)(
    'if the processor does not respond (%s) and the request is repeated',
    async fault => {
      const { flow, scripted, approved, current } = await createPaymentBench();
      scripted[fault]('open');
      expect(await flow.open(approved)).toEqual({ state: 'unavailable' });
      expect(await current()).toMatchObject({ status: 'active' });
      expect(await flow.open(approved)).toMatchObject({ state: 'open' });
      expect(scripted.references()).toHaveLength(1);
      expect((await current()) as object).toHaveProperty('charge.reference', 'cs_1');
    },
  );

  test('if recording the charge failed', async () => {
    const { stage, flow, scripted, approved } = await createPaymentBench();
    stage.losesNext(stage.stores.elicitations, 'transition');
    await expect(flow.open(approved)).rejects.toThrow(expect.objectContaining({ code: 'store_unavailable' }));
    expect(await flow.open(approved)).toMatchObject({ state: 'open', charge: { reference: 'cs_1' } });
    expect(scripted.references()).toHaveLength(1);
  });

  test('and a second approval, after the first was not paid, opens another one', async () => {
    const bench = await createPaymentBench();
    const first = await bench.opened();
    bench.scripted.becomes(first, 'closed');
    await bench.flow.check(await bench.current());
    expect(await bench.current()).toMatchObject({ status: 'pending', retryReason: 'payment_not_finished' });
    await bench.approve();
    const second = await bench.opened();
    expect(second).not.toBe(first);
    bench.scripted.pay(second);
    await bench.flow.check(await bench.current());
    expect(await bench.current()).toMatchObject({ outcome: { processorReference: `pi_${second}` } });
    expect(bench.refunds()).toEqual([]);
  });
});

test('S141: no charge is opened for a payee that is no longer registered, or has another account', async () => {
  for (const payees of [[], [{ name: 'Book Shop', accounts: { 'stripe-main': 'acct_2' } }]]) {
    const { stage, scripted, approved, refunds } = await createPaymentBench();
    const before = stage.caller();
    const { payment } = before.config;
    if (payment === undefined) throw new TypeError('no payments');
    const changed = { ...before, config: { ...before.config, payment: { ...payment, payees } } };
    const flow = new PaymentFlow({ ...stage, mcpServers: new Map([[before.mcpServerId, changed]]) });
    expect(await flow.open(approved)).toMatchObject({ state: 'settled' });
    expect(scripted.asked).toEqual([]);
    expect(stage.eventsNamed('payment.refused')).toMatchObject([{ processorCode: 'payee_not_registered' }]);
    expect(refunds()).toEqual([]);
  }
});

describe('the status of the processor', () => {
  test.each([
    ['open', 'open', 'active'],
    ['processing', 'processing', 'active'],
    ['closed', 'settled', 'pending'],
  ] as const)('%s', async (says, state, status) => {
    const bench = await createPaymentBench();
    bench.scripted.becomes(await bench.opened(), says);
    expect(await bench.flow.check(await bench.current())).toMatchObject({ state });
    expect(await bench.status()).toBe(status);
  });

  test('S69: paid: many checks complete the payment once, in the mode of the processor', async () => {
    const bench = await createPaymentBench();
    bench.scripted.pay(await bench.opened());
    const charging = await bench.current();
    await Promise.all(Array.from({ length: 20 }, () => bench.flow.check(charging)));
    expect(await bench.current()).toMatchObject({
      status: 'completed',
      outcome: { processorReference: 'pi_cs_1', mode: 'test' },
    });
    expect(bench.stage.eventsNamed('elicitation.completed')).toHaveLength(1);
    expect(bench.refunds()).toEqual([]);
  });

  test.each([{ minorUnits: 2489 }, { minorUnits: 24_900 }, { currency: 'USD' }])(
    'paid with another amount (%j): fails the payment and reports a refund',
    async change => {
      const bench = await createPaymentBench();
      bench.scripted.pay(await bench.opened(), change);
      await bench.flow.check(await bench.current());
      expect(await bench.current()).toMatchObject({ status: 'failed', failure: 'payment_mismatch' });
      expect(bench.refunds()).toMatchObject([{ processorReference: 'pi_cs_1', reason: 'mismatch' }]);
    },
  );

  test('refused: fails the payment without a charge', async () => {
    const bench = await createPaymentBench();
    bench.scripted.failsNext('open', 'refused');
    await bench.flow.open(bench.approved);
    expect(await bench.current()).toMatchObject({ status: 'failed', failure: 'processor_refused' });
    expect(bench.scripted.references()).toEqual([]);
  });

  test('S71: names the error code, status and request of the processor in the log', async () => {
    const bench = await createPaymentBench();
    const details = { processorCode: 'told_to', processorStatus: 403, processorRequestId: 'req_told' };
    const reference = await bench.opened();
    bench.scripted.failsNext('status');
    await bench.flow.check(await bench.current());
    bench.scripted.failsNext('status');
    const { scripted, stage, flow } = bench;
    scripted.calls({ reference, elicitationId: bench.approved.elicitationId.replace(/.{4}$/, 'AAAA') });
    const webhooks = new ProcessorWebhooks({ ...stage, paymentFlow: flow });
    await webhooks.handle(scripted.processor, { body: new Uint8Array(), headers: {} });
    expect(bench.stage.eventsNamed('payment.processor_unavailable')).toMatchObject([details, details]);
    bench.scripted.failsNext('open', 'refused');
    await bench.flow.open(await bench.approve('order-2'));
    expect(bench.stage.eventsNamed('payment.refused')).toMatchObject([details]);
  });

  test('is unavailable if the processor is no longer configured, and the payment stays active', async () => {
    const { stage, approved, status } = await createPaymentBench();
    stage.processors.clear();
    expect(await stage.paymentFlow.close(approved, 'expire')).toEqual({ state: 'unavailable' });
    expect(await status()).toBe('active');
    expect(stage.eventsNamed('payment.processor_unavailable')).toMatchObject([{ code: 'not_configured' }]);
  });
});

describe('closing a charge', () => {
  test.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
    ['expire', 'expired'],
  ] as const)('%s: closes it at the processor first', async (as, status) => {
    const bench = await createPaymentBench();
    const reference = await bench.opened();
    if (as === 'expire') bench.stage.clock.advance(600_000);
    await bench.flow.close(await bench.current(), as);
    expect(await bench.status()).toBe(status);
    expect(bench.scripted.asked.filter(({ verb }) => verb === 'close')).toEqual([{ verb: 'close', of: reference }]);
  });

  test.each(['decline', 'cancel', 'expire'] as const)('%s: completes a payment that was paid', async as => {
    const bench = await createPaymentBench();
    bench.scripted.pay(await bench.opened());
    if (as === 'expire') bench.stage.clock.advance(600_000);
    await bench.flow.close(await bench.current(), as);
    expect(await bench.status()).toBe('completed');
  });

  test.each(['decline', 'expire'] as const)(
    '%s: keeps the payment active while the processor does not respond',
    async as => {
      const bench = await createPaymentBench();
      await bench.opened();
      bench.stage.clock.advance(600_000);
      for (const fault of ['failsNext', 'losesNext'] as const) {
        bench.scripted[fault]('close');
        expect(await bench.flow.close(await bench.current(), as)).toEqual({ state: 'unavailable' });
        expect(await bench.status()).toBe('active');
      }
      await bench.flow.close(await bench.current(), as);
      expect(['declined', 'expired']).toContain(await bench.status());
    },
  );

  test('for the MCP server is refused while the status is unknown, while the user is paying, and once it is paid', async () => {
    const bench = await createPaymentBench();
    const reference = await bench.opened();
    const cancel = async () => bench.flow.cancel(await bench.current());
    bench.scripted.failsNext('close');
    await expect(cancel()).rejects.toThrow(expect.objectContaining({ code: 'upstream_unavailable' }));
    bench.scripted.becomes(reference, 'processing');
    await expect(cancel()).rejects.toThrow(expect.objectContaining({ code: 'payment_in_progress' }));
    bench.scripted.pay(reference);
    await expect(cancel()).rejects.toThrow(AlreadyEndedError);
    expect(await bench.status()).toBe('completed');
  });

  test('cancels a payment without a recorded charge', async () => {
    const bench = await createPaymentBench();
    expect(await bench.flow.cancel(bench.approved)).toMatchObject({ status: 'cancelled' });
    expect(await bench.scripted.processor.status('cs_1')).toEqual({ state: 'closed' });
  });

  test('while another request opens it lets both requests settle, and redirects no user to the charge', async () => {
    const bench = await createPaymentBench();
    let isFirst = true;
    bench.scripted.interrupt(async verb => {
      if (verb !== 'open' || !isFirst) return;
      isFirst = false;
      await bench.flow.close(bench.approved, 'decline');
    });
    expect(await bench.flow.open(bench.approved)).toMatchObject({ state: 'settled' });
    expect(await bench.status()).toBe('declined');
    expect(bench.scripted.references()).toHaveLength(1);
    expect(await bench.scripted.processor.status('cs_1')).toEqual({ state: 'closed' });
  });
});

test('S36: never charges terms that were altered in the store', async () => {
  const { flow, scripted, approved } = await createPaymentBench();
  const amount = { currency: 'EUR', minorUnits: 9_900 };
  const altered = { ...approved, request: { ...approved.request, terms: { ...approved.request.terms, amount } } };
  await expect(flow.open(altered)).rejects.toThrow(TypeError);
  expect(scripted.references()).toEqual([]);
});
