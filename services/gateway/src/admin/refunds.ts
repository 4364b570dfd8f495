import { createHmac } from 'node:crypto';
import { problems } from '@postern/api';
import {
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationId,
  NotFoundError,
  type Payment,
  type Refund,
  type RefundRequest,
  refundableOf,
  refundLimitText,
  type Stores,
} from '@postern/elicitation';
import { canRefundAt } from '@postern/payment';
import { type CanRefund, decideRefund, paymentsOf, refundFingerprint, reservedRefund } from '../payments/refunds.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { sharedKeyFor } from '../platform/config/vault-config.ts';
import { ProblemError } from '../platform/http/problems.ts';
import type { ReasonedActor, RecordAct } from './admin-audit.ts';
import { refundItem, takenItem } from './record-items.ts';

export interface RefundsDeps {
  readonly config: Pick<GatewayConfig, 'processors' | 'vault'>;
  readonly stores: Pick<Stores, 'elicitations' | 'payments'>;
  readonly pseudonym: Pseudonyms;
  readonly record: RecordAct;
  readonly now: () => number;
}

/** How much of which payment. */
export interface RefundAsk {
  /** Default: everything that can still be paid back. */
  readonly minorUnits?: number;
  /** The processor's reference of the payment. Needed if an elicitation has several. */
  readonly processorReference?: string;
}

/** Names an amount of a payment as a plan has seen it. Every commit to the payments of an elicitation outdates it. */
const planOf = ({ elicitationId, processorReference, version }: Payment, minorUnits: number): string =>
  digestOf(JSON.stringify([elicitationId, processorReference, version, minorUnits]));

/** The code of a refused refund; undefined for any other error. */
function refusalOf(error: unknown) {
  if (error instanceof ProblemError && error.code === 'refund_not_possible') return error.code;
  if (!(error instanceof DomainError)) return undefined;
  const { code } = error;
  return code === 'payment_disputed' || code === 'refund_exceeds_payment' || code === 'too_many_refunds'
    ? code
    : undefined;
}

/** Says to an operator why a refund is not possible now. */
export const refusalText = (
  refusal: NonNullable<ReturnType<typeof refusalOf>>,
  of: { refundableMinorUnits: number },
) => (refusal === 'refund_exceeds_payment' ? refundLimitText(of.refundableMinorUnits) : problems[refusal].title);

/**
 * Names refunds of operators. The MCP server and the processor see the name: the key keeps them from guessing the reason. Equal refunds
 * have equal names on all replicas, so the processor makes one of them once, even if Redis has lost its reservation.
 */
function createRefundNames(config: Pick<GatewayConfig, 'vault'>) {
  const key = sharedKeyFor(config, 'postern refunds of operators, 1');
  return ({ elicitationId, processorReference }: Payment, attempt: number, fingerprint: string): string => {
    const named = JSON.stringify([elicitationId, processorReference, attempt, fingerprint]);
    return `rf_${createHmac('sha256', key).update(named).digest('base64url')}`;
  };
}

/**
 * Refunds by operators. A refund is a reservation in the record of its payment, as for the MCP server, and no job: the reservation
 * survives a restart, shows its progress, and counts against refunds of everyone else. A replica of the gateway asks the processor, so no
 * other process needs the key of the processor.
 */
export function createRefunds({ config, stores, pseudonym, record, now }: RefundsDeps) {
  const nameOf = createRefundNames(config);
  const processors = new Map(config.processors.map(processor => [processor.name, processor]));
  const canRefund: CanRefund = (name, amount) => {
    const processor = processors.get(name);
    return processor && canRefundAt(processor, amount);
  };

  async function standing(elicitationId: ElicitationId) {
    const elicitation = await stores.elicitations.read(elicitationId);
    return { elicitation, payments: await paymentsOf(stores.payments, elicitationId) };
  }
  const isKnown = ({ elicitation, payments }: Awaited<ReturnType<typeof standing>>): boolean =>
    payments.length > 0 || elicitation?.request.kind === 'payment';

  /** @throws DomainError `payment_not_paid`, `not_found`, ProblemError `invalid_request` */
  function chosen(payments: readonly Payment[], processorReference: string | undefined): Payment {
    const [first, second] = payments;
    if (first === undefined) throw new DomainError('payment_not_paid', 'The payment was not made.');
    if (processorReference === undefined) {
      if (second === undefined) return first;
      const message = `must name one of ${payments.map(each => each.processorReference).join(', ')}`;
      throw new ProblemError('invalid_request', { errors: [{ path: 'processorReference', message }] });
    }
    const found = payments.find(each => each.processorReference === processorReference);
    if (found === undefined) throw new NotFoundError('payment');
    return found;
  }

  /**
   * A refund by an operator. A repeat of the same amount and reason, by any operator and through any door, is the same refund. After a
   * failure it is another attempt.
   */
  function requestOf(of: Payment, ask: { readonly minorUnits?: number; readonly reason: string }): RefundRequest {
    const fingerprint = refundFingerprint(ask);
    const attempts = of.refunds.filter(each => each.requestedBy === 'operator' && each.fingerprint === fingerprint);
    const known = attempts.find(({ status }) => status !== 'failed');
    return {
      refundId: known?.refundId ?? nameOf(of, attempts.length, fingerprint),
      fingerprint,
      minorUnits: ask.minorUnits,
      // The reason stays in the audit trail: the MCP server can read the refund.
      requestedBy: 'operator',
      createdAt: now(),
    };
  }

  /** What operators see of the person and the request of a payment. Absent after the elicitation has expired. */
  function requestItem(of: Elicitation | undefined) {
    const request = of?.request.kind === 'payment' ? of.request : undefined;
    return {
      status: of?.status,
      subject: of && pseudonym(of.subject),
      payee: request?.terms.payee.name,
      requested: request && { ...request.terms.amount, processor: request.processor },
    };
  }

  return {
    /** The payments of an elicitation, without its person. Undefined for an unknown one, or one of another kind. */
    async payment(elicitationId: ElicitationId) {
      const found = await standing(elicitationId);
      if (!isKnown(found)) return undefined;
      const { elicitation, payments } = found;
      return {
        elicitationId,
        mcpServerId: payments[0]?.mcpServerId ?? elicitation?.mcpServerId,
        ...requestItem(elicitation),
        payments: payments.map(takenItem),
      };
    },

    /**
     * What `startRefund` would do now. Changes nothing. Undefined as for `payment`.
     * @throws DomainError `payment_not_paid`, `not_found`, ProblemError `invalid_request`
     */
    async planRefund(elicitationId: ElicitationId, ask: RefundAsk = {}) {
      const found = await standing(elicitationId);
      if (!isKnown(found)) return undefined;
      const payment = chosen(found.payments, ask.processorReference);
      const { minorUnits = refundableOf(payment) } = ask;
      const request = requestOf(payment, { minorUnits, reason: '' });
      let refusal: ReturnType<typeof refusalOf>;
      try {
        decideRefund(canRefund, payment, { ...request, refundId: '' });
      } catch (error) {
        refusal = refusalOf(error);
        if (refusal === undefined) throw error;
      }
      return {
        elicitationId,
        mcpServerId: payment.mcpServerId,
        payment: takenItem(payment),
        minorUnits,
        /** What can be paid back afterwards. */
        leftMinorUnits: Math.max(refundableOf(payment) - minorUnits, 0),
        plan: planOf(payment, minorUnits),
        ...requestItem(found.elicitation),
        refusal,
      };
    },

    /**
     * Reserves a refund, which a replica of the gateway makes within seconds. Repeating it returns the same refund as it now stands.
     * @param ask.plan of the plan that the operator has seen: refuses any other new refund, and any if the payment has changed since
     * @throws DomainError and ProblemError as `planRefund` and `decideRefund`, and `payment_changed`
     */
    async startRefund(
      actor: ReasonedActor,
      elicitationId: ElicitationId,
      ask: RefundAsk & { readonly plan?: string } = {},
    ) {
      const found = await standing(elicitationId);
      if (!isKnown(found)) return undefined;
      const first = chosen(found.payments, ask.processorReference);
      const { mcpServerId, processor, processorReference, amount } = first;
      const asked = { minorUnits: ask.minorUnits, reason: actor.reason };
      let recorded: Refund | undefined;

      /** Decides on the payment as it now stands. */
      function decided(of: Payment) {
        const request = requestOf(of, asked);
        const { result, refund } = decideRefund(canRefund, of, request);
        const isOther = recorded !== undefined && refund.minorUnits !== recorded.minorUnits;
        const isOutdated = ask.plan !== undefined && ask.plan !== planOf(of, refund.minorUnits);
        if (result === 'reserved' && (isOther || isOutdated)) throw new ProblemError('payment_changed');
        return { result, refund, request };
      }

      const { result: firstResult, refund: wanted } = decided(first);
      // Nothing happens, and nothing is recorded.
      if (firstResult === 'known') return startedItem(elicitationId, amount.currency, wanted);
      await record(actor, {
        event: 'admin.refund_started',
        elicitationId,
        mcpServerId,
        processor,
        processorReference,
        refundId: wanted.refundId,
        currency: amount.currency,
        minorUnits: wanted.minorUnits,
        subject: found.elicitation?.subject,
      });
      recorded = wanted;
      const { refund } = await reservedRefund({
        canRefund,
        async commit(change) {
          // At once: this process does not ask the processor.
          const result = await stores.payments.put({ ...change, checkAfterMs: 0 });
          return result === 'committed' ? change.payment : undefined;
        },
        read: async () => chosen((await standing(elicitationId)).payments, processorReference),
        requestFor: of => decided(of).request,
      });
      return startedItem(elicitationId, amount.currency, refund);
    },
  };
}

const startedItem = (elicitationId: ElicitationId, currency: string, refund: Refund) => ({
  elicitationId,
  currency,
  ...refundItem(refund),
});
