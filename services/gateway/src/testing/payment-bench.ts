import { createElicitationStage } from './elicitation-stage.ts';

/** A payment that the user has approved, and a scripted payment processor. */
export async function createPaymentBench(change: Parameters<typeof createElicitationStage>[0] = {}) {
  const stage = createElicitationStage(change);
  const { paymentFlow, scripted } = stage;
  const bench = {
    ...{ stage, flow: paymentFlow, scripted },
    async approve(reference = 'order-1001') {
      const asked = await stage.pay({ reference });
      const browserSession = await stage.browserSession();
      await stage.approvalFlow(asked, { visitor: stage.visitor, browserSession, shown: asked.request.digest });
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
