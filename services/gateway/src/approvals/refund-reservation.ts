import {
  type Amount,
  DomainError,
  digestOf,
  type ElicitationId,
  type Payment,
  type PaymentChange,
  type PaymentStore,
  type Refund,
  type RefundRequest,
  reserveRefund,
} from '@postern/elicitation';
import { ProblemError } from '../platform/http/problems.ts';

/** Another replica commits a change of the same payment between any two reads at most this often. */
export const MAX_CONFLICTS = 20;

/** Whether a processor can pay back exactly this amount; undefined if it is not configured. */
export type CanRefund = (processor: string, amount: Amount) => boolean | undefined;

/** Recognizes another request under the same key. */
export const refundFingerprint = (p: { readonly minorUnits?: number; readonly reason: string }): string =>
  digestOf(JSON.stringify([p.minorUnits ?? 'all', p.reason])).slice(0, 22);

/** Returns the payments of an elicitation. The first is the one that completed it, if one did. */
export const paymentsOf = async (
  payments: Pick<PaymentStore, 'list'>,
  elicitationId: ElicitationId,
): Promise<readonly Payment[]> =>
  (await payments.list(elicitationId)).toSorted(
    (one, other) => Number(other.completes) - Number(one.completes) || one.paidAt - other.paidAt,
  );

/**
 * Decides on a refund of a payment as it stands, and changes nothing.
 * @throws DomainError as `reserveRefund`, ProblemError `refund_not_possible`
 */
export function decideRefund(
  canRefund: CanRefund,
  payment: Payment,
  request: RefundRequest,
): ReturnType<typeof reserveRefund> {
  const decided = reserveRefund(payment, request);
  if (decided.result === 'reserved') assertPossible(canRefund, payment, decided.refund);
  return decided;
}

/** @throws ProblemError `refund_not_possible` */
function assertPossible(canRefund: CanRefund, { processor, amount }: Payment, { minorUnits }: Refund): void {
  const isPossible = canRefund(processor, { currency: amount.currency, minorUnits });
  if (isPossible === undefined)
    throw new ProblemError('refund_not_possible', { detail: 'The payment processor is no longer configured.' });
  if (!isPossible)
    throw new ProblemError('refund_not_possible', {
      errors: [{ path: 'body.minorUnits', message: 'the processor cannot represent this amount' }],
    });
}

/**
 * Reserves a refund in the commit that checks it against the amount, before any request to the processor. A killed process leaves the
 * reservation, and the background check of any replica makes the refund.
 * @param p.commit returns the payment as committed; undefined after a conflict
 * @returns `known`: this refund was reserved before
 * @throws as `decideRefund`, and what `read` and `requestFor` throw
 */
export async function reservedRefund(p: {
  readonly canRefund: CanRefund;
  readonly commit: (change: PaymentChange) => Promise<Payment | undefined>;
  readonly read: () => Promise<Payment>;
  readonly requestFor: (payment: Payment) => RefundRequest;
}): Promise<{ readonly result: 'known' | 'reserved'; readonly payment: Payment; readonly refund: Refund }> {
  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
    const payment = await p.read();
    const decided = decideRefund(p.canRefund, payment, p.requestFor(payment));
    if (decided.result === 'known') return decided;
    const committed = await p.commit({ payment: decided.payment });
    if (committed !== undefined) return { ...decided, payment: committed };
  }
  throw new DomainError('contention', 'The payment keeps changing.');
}
