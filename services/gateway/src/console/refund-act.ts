import { parseElicitationId } from '@postern/elicitation';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { AdminService } from '../admin/admin-service.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { type ActDeps, registerAct } from './acts.ts';
import type { ActView } from './pages/act-page.ts';
import { typedAmount } from './pages/amounts.ts';
import { chooseRefundView, refundView } from './pages/payment-pages.ts';

const text = z
  .string()
  .max(200)
  .transform(given => (given === '' ? undefined : given))
  .optional();

const refundValues = z.strictObject({
  elicitationId: z.string().transform(parseElicitationId),
  /** As typed. */
  amount: text,
  /** The processor's reference of the payment. */
  payment: text,
  /** Of the page that the operator confirms. */
  plan: text,
});
type RefundValues = z.infer<typeof refundValues>;

/** Pays back one payment. The amount is in the query of the page, so the page says what exactly it will do. */
export function registerRefundAct(app: FastifyInstance, { admin, ...deps }: ActDeps & { admin: AdminService }): void {
  /** The elicitation with its payments, and the payment that the values name. Undefined if there is no such elicitation. */
  async function found({ elicitationId, payment: reference }: RefundValues) {
    const detail = elicitationId && (await admin.payment(elicitationId));
    if (elicitationId === undefined || detail === undefined) return undefined;
    const { payments } = detail;
    const isOnly = reference === undefined && payments.length === 1;
    const payment = isOnly ? payments[0] : payments.find(each => each.processorReference === reference);
    return { elicitationId, detail, payment };
  }

  async function viewOf(values: RefundValues, isOutdated = false): Promise<ActView | undefined> {
    const of = await found(values);
    if (of === undefined) return undefined;
    const { elicitationId, detail, payment } = of;
    if (payment === undefined) return chooseRefundView(detail);
    const { amount } = values;
    const { processorReference, currency } = payment;
    const minorUnits = amount === undefined ? undefined : typedAmount(amount, currency);
    const plan =
      minorUnits === undefined ? undefined : await admin.planRefund(elicitationId, { minorUnits, processorReference });
    return refundView({ elicitationId, payment, isOneOfMany: detail.payments.length > 1, amount, plan, isOutdated });
  }

  registerAct(app, deps, {
    path: '/payments/:elicitationId/refund',
    values: refundValues,
    plan: (_, values) => viewOf(values),
    async perform(actor, values) {
      const of = await found(values);
      const minorUnits = of?.payment && values.amount && typedAmount(values.amount, of.payment.currency);
      // Only a page that has said what it will do has both.
      if (of?.payment === undefined || minorUnits === undefined || minorUnits === '' || values.plan === undefined)
        return viewOf(values);
      const { elicitationId, payment } = of;
      const { processorReference } = payment;
      try {
        await admin.startRefund(actor, elicitationId, { minorUnits, processorReference, plan: values.plan });
      } catch (error) {
        if (error instanceof ProblemError && error.code === 'payment_changed') return viewOf(values, true);
        const view = await viewOf(values);
        // The page says why the refund is not possible now.
        if (view?.button === undefined) return view;
        throw error;
      }
      return `/payments/${elicitationId}`;
    },
  });
}
