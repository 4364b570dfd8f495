import {
  type ActiveElicitation,
  AlreadyEndedError,
  type Charge,
  DomainError,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  isCharging,
  isPaidBy,
  isShownBy,
  isSuperseded,
  type Stores,
  textIn,
} from '@postern/elicitation';
import { type ChargeStatus, chargeKeyOf, type PaymentProcessor, ProcessorError } from '@postern/payment';
import { isForRegisteredPayee, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { elicitationUrl } from '../platform/http/public-urls.ts';
import type { Refunds } from './refunds.ts';

/** An approved payment with a processor. */
type Charging = ActiveElicitation & ElicitationOf<'payment'>;

/** Time after which the sweep first checks the status of a charge, in milliseconds. */
export const FIRST_CHECK_MS = 30_000;

export type ChargeState =
  /** The user can pay at `charge.url`, or the processor is taking the payment. */
  | { readonly state: 'open' | 'processing'; readonly charge: Charge }
  /** The processor did not respond, so the status of the charge is unknown. */
  | { readonly state: 'unavailable' }
  /**
   * The elicitation has the result. `settledBy`: reference of the charge whose status the processor reported. If that charge took money
   * but completes no elicitation, the refund has been reported.
   */
  | { readonly state: 'settled'; readonly elicitation: Elicitation; readonly settledBy?: string };

/** What happens to the elicitation if its charge closed unpaid. */
type Unpaid = 'retry' | 'decline' | 'cancel' | 'expire';

export interface PaymentFlowDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly service: Pick<ElicitationService, 'find' | 'recordCharge' | 'settle'>;
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
  readonly stores: Pick<Stores, 'payments'>;
  readonly refunds: Refunds;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly auditLog: AuditLog;
}

/**
 * Charges at payment processors. The approval is committed before any request to the processor. Each request carries an idempotency key
 * derived from the approval, so a user, a recovery after a crash, or another replica that repeats a step gets the same charge. Only the
 * processor's status says what was paid; a redirect or a webhook never does.
 */
export class PaymentFlow {
  readonly #deps: PaymentFlowDeps;

  constructor(deps: PaymentFlowDeps) {
    this.#deps = deps;
  }

  /** Opens the charge if there is none. Sends no other request to the processor. */
  open(elicitation: Elicitation): Promise<ChargeState> {
    return this.#settle(elicitation, async () => ({ state: 'open' }), 'retry');
  }

  /** Asks the processor for the status of the charge, and commits it. */
  check(elicitation: Elicitation): Promise<ChargeState> {
    return this.#settle(elicitation, (processor, charge) => processor.status(charge.reference), 'retry');
  }

  /**
   * Closes the charge and ends the elicitation. If the charge was paid, completes it instead. A charge that cannot be closed stays open.
   */
  close(elicitation: Elicitation, as: 'decline' | 'cancel' | 'expire'): Promise<ChargeState> {
    return this.#settle(
      elicitation,
      async (processor, charge) => {
        const status = await processor.close(charge.reference);
        if (status.state === 'open')
          this.#deps.auditLog.record('payment.not_closed', {
            ...elicitation,
            processor: processor.name,
            ...status.refusal,
          });
        return status;
      },
      as,
    );
  }

  /**
   * Cancels a payment for its MCP server.
   * @throws AlreadyEndedError (for example if it was paid), DomainError `payment_in_progress`, ProblemError `upstream_unavailable`
   */
  async cancel(elicitation: Elicitation): Promise<Elicitation> {
    const closed = await this.close(elicitation, 'cancel');
    if (closed.state === 'unavailable') throw new ProblemError('upstream_unavailable');
    if (closed.state !== 'settled')
      throw new DomainError('payment_in_progress', 'The processor is taking the payment.');
    if (closed.elicitation.status !== 'cancelled') throw new AlreadyEndedError(closed.elicitation.status);
    return closed.elicitation;
  }

  /** Opens the charge if needed, gets its status and commits it. */
  async #settle(
    elicitation: Elicitation,
    getStatus: (processor: PaymentProcessor, charge: Charge, charging: Charging) => Promise<ChargeStatus>,
    unpaid: Unpaid,
  ): Promise<ChargeState> {
    if (!isCharging(elicitation)) return { state: 'settled', elicitation };
    const { processors, auditLog } = this.#deps;
    const processor = processors.get(elicitation.request.processor);
    if (processor === undefined) {
      auditLog.record('payment.processor_unavailable', {
        ...elicitation,
        processor: elicitation.request.processor,
        code: 'not_configured',
      });
      return { state: 'unavailable' };
    }
    try {
      const charge = await this.#openCharge(elicitation, processor);
      if (!('reference' in charge)) return { state: 'settled', elicitation: charge };
      return await this.#applyStatus(elicitation, charge, await getStatus(processor, charge, elicitation), unpaid);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      auditLog.record('payment.processor_unavailable', {
        ...elicitation,
        processor: processor.name,
        code: error.code,
        ...error.details,
      });
      return { state: 'unavailable' };
    }
  }

  /** Returns the charge of an approved payment, and opens it if there is none. Returns the elicitation if it is no longer charging. */
  async #openCharge(elicitation: Charging, processor: PaymentProcessor): Promise<Charge | Elicitation> {
    if (elicitation.charge !== undefined) return elicitation.charge;
    const { service, mcpServers, stores, config, auditLog } = this.#deps;
    const { elicitationId, attempt, request, mcpServerId } = elicitation;
    // The user has not approved terms that were altered in the store. The operator must investigate, so this settles nothing.
    if (!isShownBy(request.digest, request)) throw new TypeError('The terms are not those that were approved.');
    const mcpServer = mcpServers.get(mcpServerId);
    // Since the issue, the payee may have been removed, or have another account: the operator no longer says where the money goes.
    if (mcpServer === undefined || !isForRegisteredPayee(mcpServer, request)) {
      auditLog.record('payment.refused', {
        ...elicitation,
        processor: processor.name,
        processorCode: 'payee_not_registered',
      });
      return currentCharge(await service.settle(elicitationId, attempt, { result: 'refused' }), attempt);
    }
    const page = elicitationUrl(config.publicUrl, elicitationId);
    // Stored, like all that the processor gets: repeated calls under one key are equal.
    const language = elicitation.approval?.language;
    // Scheduled before the user can pay: this check replaces a webhook that never arrives.
    await stores.payments.checkLater(elicitationId, 'charge', FIRST_CHECK_MS);
    let charge: Charge;
    try {
      charge = await processor.open({
        key: chargeKeyOf(elicitationId, attempt),
        terms: request.terms,
        digest: request.digest,
        elicitationId,
        mcpServerId,
        mcpServerName: textIn(mcpServer.config.name, language),
        language,
        payeeAccount: request.payeeAccount,
        returnUrl: `${page}/charge`,
        cancelUrl: `${page}/charge`,
      });
    } catch (error) {
      if (!(error instanceof ProcessorError) || error.code !== 'refused') throw error;
      auditLog.record('payment.refused', { ...elicitation, processor: processor.name, ...error.details });
      return currentCharge(await service.settle(elicitationId, attempt, { result: 'refused' }), attempt);
    }
    try {
      return currentCharge(await service.recordCharge(elicitationId, attempt, charge), attempt);
    } catch (error) {
      if (!isSuperseded(error)) throw error;
      // Another request closed this charge, which has the same key, or a new attempt has another charge.
      const found = await service.find(elicitationId);
      return found === undefined ? elicitation : currentCharge(found, attempt);
    }
  }

  /** Commits the processor's status to the elicitation. */
  async #applyStatus(
    elicitation: Charging,
    charge: Charge,
    status: ChargeStatus,
    unpaid: Unpaid,
  ): Promise<ChargeState> {
    const { service, refunds } = this.#deps;
    const { elicitationId, attempt, request } = elicitation;
    switch (status.state) {
      case 'open':
      case 'processing':
        return { state: status.state, charge };
      case 'closed': {
        const closed = await service.settle(elicitationId, attempt, { result: 'closed', as: unpaid });
        return { state: 'settled', elicitation: closed, settledBy: charge.reference };
      }
      case 'paid': {
        const { currency, minorUnits } = request.terms.amount;
        const isAsApproved = status.amount.currency === currency && status.amount.minorUnits === minorUnits;
        const settled = await service.settle(
          elicitationId,
          attempt,
          isAsApproved
            ? { result: 'paid', processorReference: status.processorReference, mode: status.mode }
            : { result: 'mismatch' },
        );
        if (!isPaidBy(settled, status.processorReference))
          await refunds.recordUnexpected({
            elicitationId,
            elicitation: settled,
            processor: request.processor,
            status,
            isOwn: true,
            reason: isAsApproved ? settled.status : 'mismatch',
          });
        return { state: 'settled', elicitation: settled, settledBy: charge.reference };
      }
    }
  }
}

/** Returns the recorded charge of this attempt while the attempt is charging, otherwise the elicitation. */
function currentCharge(elicitation: Elicitation, attempt: string): Charge | Elicitation {
  const isCurrent = isCharging(elicitation) && elicitation.attempt === attempt;
  return isCurrent && elicitation.charge !== undefined ? elicitation.charge : elicitation;
}
