import { randomBytes } from 'node:crypto';
import type { CheckoutSessions } from './checkout-sessions.ts';
import { invalidRequest, missing } from './stripe-api-error.ts';
import { type FormObject, isFormObject } from './stripe-form.ts';
import type { StripeDispute, StripeRefund } from './stripe-objects.ts';
import { refuseUnknown } from './stripe-parameters.ts';

/** Refunds and disputes of the payments that were taken, with their events. */
export class StripeRefunds {
  readonly #checkout: CheckoutSessions;
  readonly #seconds: () => number;
  readonly refunds: StripeRefund[] = [];
  readonly disputes: StripeDispute[] = [];
  /** Status of new refunds. Methods that settle later begin as `pending`. */
  newStatus: StripeRefund['status'] = 'succeeded';

  constructor(checkout: CheckoutSessions, seconds: () => number) {
    this.#checkout = checkout;
    this.#seconds = seconds;
  }

  /** @throws StripeApiError as Stripe refuses it */
  create(form: FormObject): StripeRefund {
    refuseUnknown(form, { payment_intent: true, amount: true, reason: true, metadata: true, reverse_transfer: true });
    const { payment_intent: reference, amount, metadata, reverse_transfer: reverses } = form;
    if (typeof reference !== 'string') throw invalidRequest('Missing required param.', { param: 'payment_intent' });
    const intent = this.#checkout.intent(reference);
    if (intent.status !== 'succeeded')
      throw invalidRequest(`This PaymentIntent (${reference}) does not have a successful charge to refund.`);
    if (reverses === 'true' && intent.transfer_data === null)
      throw invalidRequest('Cannot reverse transfer on a charge without an associated transfer.', {
        param: 'reverse_transfer',
      });
    const open = this.disputes.find(
      ({ payment_intent, status }) => payment_intent === reference && !/^warning|^won$/.test(status),
    );
    if (open !== undefined)
      throw invalidRequest('Charge has been charged back; cannot issue a refund.', { code: 'charge_disputed' });
    const left = intent.amount_received - this.refundedOf(reference);
    if (left === 0) throw invalidRequest('Charge has already been refunded.', { code: 'charge_already_refunded' });
    const asked = amount === undefined ? left : Number(amount);
    if (!Number.isSafeInteger(asked) || asked < 1)
      throw invalidRequest('Invalid positive integer', { param: 'amount' });
    if (asked > left)
      throw invalidRequest(`Refund amount (${asked}) is greater than unrefunded amount on charge (${left})`, {
        param: 'amount',
      });
    const given = isFormObject(metadata) ? Object.entries(metadata).map(([name, value]) => [name, String(value)]) : [];
    const refund: StripeRefund = {
      id: `re_${randomBytes(12).toString('hex')}`,
      object: 'refund',
      amount: asked,
      currency: intent.currency,
      created: this.#seconds(),
      payment_intent: reference,
      status: this.newStatus,
      failure_reason: null,
      metadata: Object.fromEntries(given),
    };
    this.refunds.push(refund);
    this.#checkout.happenElsewhere('refund.created', refund);
    this.#checkout.happenElsewhere('charge.refunded', this.#charge(reference));
    return refund;
  }

  /** Refunds of a payment that did not fail, in Stripe's units. */
  refundedOf(reference: string): number {
    const standing = this.refunds.filter(
      ({ payment_intent, status }) => payment_intent === reference && status !== 'failed' && status !== 'canceled',
    );
    return standing.reduce((sum, { amount }) => sum + amount, 0);
  }

  listRefunds = (query: FormObject): object => this.#list('/v1/refunds', this.refunds, query);
  listDisputes = (query: FormObject): object => this.#list('/v1/disputes', this.disputes, query);

  /** The bank of the payer decides on a refund that was pending, or takes it back. */
  settle(id: string, status: 'succeeded' | 'failed'): void {
    const refund = this.refunds.find(candidate => candidate.id === id);
    if (refund === undefined) throw missing('refund', id);
    refund.status = status;
    if (status === 'failed') refund.failure_reason = 'expired_or_canceled_card';
    this.#checkout.happenElsewhere(status === 'failed' ? 'refund.failed' : 'refund.updated', refund);
  }

  /** The payer disputes a payment, or the dispute moves on. */
  dispute(
    reference: string,
    status: string,
    caseType = 'chargeback',
    claimed: Pick<StripeDispute, 'amount' | 'currency'> = this.#checkout.intent(reference),
  ): void {
    const known = this.disputes.find(({ payment_intent }) => payment_intent === reference);
    if (known !== undefined) {
      known.status = status;
      const isClosed = ['won', 'lost', 'warning_closed'].includes(status);
      this.#checkout.happenElsewhere(`charge.dispute.${isClosed ? 'closed' : 'updated'}`, known);
      return;
    }
    const dispute: StripeDispute = {
      id: `du_${randomBytes(12).toString('hex')}`,
      object: 'dispute',
      amount: claimed.amount,
      status,
      currency: claimed.currency,
      created: this.#seconds(),
      payment_intent: reference,
      metadata: {},
      payment_method_details: { type: 'card', card: { brand: 'visa', case_type: caseType } },
    };
    this.disputes.push(dispute);
    this.#checkout.happenElsewhere('charge.dispute.created', dispute);
  }

  #charge(reference: string): object {
    const { amount, currency, metadata } = this.#checkout.intent(reference);
    const refunded = this.refundedOf(reference);
    return {
      id: `ch_${reference.slice(3)}`,
      object: 'charge',
      amount,
      currency,
      metadata,
      payment_intent: reference,
      amount_refunded: refunded,
      refunded: refunded === amount,
    };
  }

  /** Newest first, a page at a time. */
  #list<T extends { readonly id: string; readonly payment_intent: string }>(
    url: string,
    all: readonly T[],
    query: FormObject,
  ): object {
    refuseUnknown(query, { payment_intent: true, limit: true, starting_after: true });
    const found = all.filter(({ payment_intent }) => payment_intent === query['payment_intent']).toReversed();
    const from = found.findIndex(({ id }) => id === query['starting_after']) + 1;
    const limit = Number(query['limit'] ?? 10);
    const data = found.slice(from, from + limit);
    return { object: 'list', url, has_more: from + limit < found.length, data };
  }
}
