import type { Refund } from '@postern/elicitation';
import { allEvents } from '@postern/testkit/contract';
import { ProcessorWebhooks } from '../payments/processor-webhooks.ts';
import { createElicitationStage } from './elicitation-stage.ts';

/** A payment that the user has approved, and a scripted payment processor. */
export async function createPaymentBench(change: Parameters<typeof createElicitationStage>[0] = {}) {
  const stage = createElicitationStage(change);
  const { paymentFlow, scripted } = stage;
  const bench = {
    stage,
    flow: paymentFlow,
    scripted,
    async approve(reference = 'order-1001') {
      const asked = await stage.pay({ reference });
      const browserSession = await stage.browserSession();
      await stage.approvals.approve(asked, { visitor: stage.visitor, browserSession, shown: asked.request.digest });
      return stage.again(asked, 'payment');
    },
    status: async () => (await stage.again(approved, 'payment')).status,
    refunds: () => stage.eventsNamed('payment.refund_needed'),
    /** Opens the charge and returns its reference. */
    async opened(): Promise<string> {
      await paymentFlow.open(await stage.again(approved, 'payment'));
      return scripted.references().at(-1) ?? '';
    },
    current: () => stage.again(approved, 'payment'),
  };
  const approved = await bench.approve();
  return { ...bench, approved };
}

/** The only payment of the bench at its processor. */
export const PAYMENT = 'pi_cs_1';

/** A payment of 24.90 euro that the processor has taken. */
export async function createRefundBench() {
  const bench = await createPaymentBench();
  const { stage, scripted, flow } = bench;
  scripted.pay(await bench.opened());
  await flow.check(await bench.current());
  const { elicitationId } = bench.approved;
  const { refunds, stores } = stage;
  const webhooks = new ProcessorWebhooks({ ...stage, paymentFlow: flow });
  return {
    ...bench,
    elicitationId,
    refund: (key: string, minorUnits?: number, reason = 'damaged'): Promise<Refund> =>
      refunds.refund(stage.caller(), elicitationId, {
        key,
        reason,
        minorUnits,
      }),
    payment: async () => {
      const [payment] = await stores.payments.list(elicitationId);
      if (payment === undefined) throw new Error('there is no payment');
      return payment;
    },
    /** The background check, after its delay. */
    async sweep(): Promise<void> {
      stage.clock.advance(3_600_000);
      await refunds.check(elicitationId);
    },
    receive(about: 'refunds' | 'disputes'): Promise<boolean> {
      scripted.calls({ about, processorReference: PAYMENT, elicitationId });
      return webhooks.handle(scripted.processor, { body: new Uint8Array(), headers: {} });
    },
    atProcessor: () => scripted.refundsOf(PAYMENT),
    eventsOf: async (type: string) => (await allEvents(stores)).filter(event => event.type === type),
  };
}

/** The code of the error, or `succeeded`. */
export const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'succeeded',
    (error: { code: string }) => error.code,
  );
