import {
  type ActiveElicitation,
  AlreadyEndedError,
  type Charge,
  DomainError,
  type Elicitation,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  isCharging,
  isPaidBy,
  isShownBy,
  parseElicitationId,
} from '@postern/elicitation';
import {
  type ChargeEvent,
  type ChargeStatus,
  chargeKeyOf,
  type PaymentProcessor,
  ProcessorError,
} from '@postern/payment';
import type { RedisStores } from '@postern/store-redis';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Events } from '../events.ts';
import { elicitationUrl } from '../http/api/present.ts';
import { ProblemError } from '../http/problem-error.ts';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';
import { isOvertaken } from './unless-overtaken.ts';

/** An approved payment that a processor takes. */
type Charging = ActiveElicitation & ElicitationOf<'payment'>;

/** After so long the processor is asked how a charge stands, unless somebody has asked before; in milliseconds. */
export const FIRST_CHECK_MS = 30_000;

export type ChargeState =
  /** To be paid at `charge.url`. */
  | { readonly state: 'open' | 'processing'; readonly charge: Charge }
  /** The processor does not answer; what it knows is unknown here. */
  | { readonly state: 'unavailable' }
  /**
   * The elicitation tells how it stands. `settledBy`: reference of the charge that the processor was asked about; money that was taken for
   * it and counts for nothing has been reported.
   */
  | { readonly state: 'settled'; readonly elicitation: Elicitation; readonly settledBy?: string };

/**
 * Payments at a processor. The approval is the claim, committed before anything has an effect outside; every request to the
 * processor carries a key that is derived from it, so a step that is repeated, by a person, a crash or another replica, meets the same
 * charge. What was paid is read from the processor, never concluded from an answer, a redirect or a webhook.
 */
export function createPaymentFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  service: ElicitationService;
  processors: ReadonlyMap<string, PaymentProcessor>;
  stores: Pick<RedisStores, 'payments'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  events: Events;
}) {
  /** The charge of an approved payment: the one that exists, or the one that this brings into being. */
  async function chargeOf(elicitation: Charging, processor: PaymentProcessor): Promise<Charge | Elicitation> {
    if (elicitation.charge !== undefined) return elicitation.charge;
    const { elicitationId, attempt, request, mcpServerId } = elicitation;
    // Terms that somebody has changed in the store were approved by nobody. That is for the operator to look into, not to be settled here.
    if (!isShownBy(request.digest, request)) throw new TypeError('The terms are not those that were approved.');
    const page = elicitationUrl(p.config.publicUrl, elicitationId);
    // Before anybody can pay: a window that is closed and a webhook that never comes are made up for by asking.
    await p.stores.payments.checkLater(elicitationId, FIRST_CHECK_MS);
    let charge: Charge;
    try {
      charge = await processor.open({
        key: chargeKeyOf(elicitationId, attempt),
        terms: request.terms,
        digest: request.digest,
        elicitationId,
        mcpServerId,
        mcpServerName: p.mcpServers.get(mcpServerId)?.config.name ?? mcpServerId,
        returnUrl: `${page}/charge`,
        cancelUrl: `${page}/charge`,
      });
    } catch (error) {
      if (!(error instanceof ProcessorError) || error.code !== 'refused') throw error;
      p.events.chargeRefused(elicitation, processor.name, error.details);
      return notedOf(await p.service.settle(elicitationId, attempt, { result: 'refused' }), attempt);
    }
    try {
      return notedOf(await p.service.noteCharge(elicitationId, attempt, charge), attempt);
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      // It was closed meanwhile, and with it this charge: the same key names the same one. Or it leads to another one by now.
      const found = await p.service.find(elicitationId);
      return found === undefined ? elicitation : notedOf(found, attempt);
    }
  }

  /** Writes down what the processor says. */
  async function record(
    elicitation: Charging,
    charge: Charge,
    status: ChargeStatus,
    unpaid: 'retry' | 'decline' | 'cancel' | 'expire',
  ): Promise<ChargeState> {
    const { elicitationId, attempt, request } = elicitation;
    switch (status.state) {
      case 'open':
      case 'processing':
        return { state: status.state, charge };
      case 'closed': {
        const closed = await p.service.settle(elicitationId, attempt, { result: 'closed', as: unpaid });
        return { state: 'settled', elicitation: closed, settledBy: charge.reference };
      }
      case 'paid': {
        const { currency, minorUnits } = request.terms.amount;
        const isAsApproved = status.amount.currency === currency && status.amount.minorUnits === minorUnits;
        const settled = await p.service.settle(
          elicitationId,
          attempt,
          isAsApproved
            ? { result: 'paid', processorReference: status.processorReference, mode: status.mode }
            : { result: 'mismatch' },
        );
        if (!isPaidBy(settled, status.processorReference))
          await reportRefund(elicitationId, elicitation, {
            processor: request.processor,
            processorReference: status.processorReference,
            reason: isAsApproved ? settled.status : 'mismatch',
          });
        return { state: 'settled', elicitation: settled, settledBy: charge.reference };
      }
    }
  }

  /** Said before it is noted: a crash between the two says it once more, and never leaves it unsaid. */
  async function reportRefund(
    elicitationId: ElicitationId | undefined,
    about: { readonly elicitationId: string; readonly mcpServerId?: string },
    payment: { processor: string; processorReference: string; reason: string },
  ): Promise<void> {
    p.events.refundNeeded(about, payment);
    if (elicitationId !== undefined) await p.stores.payments.noteReported(elicitationId, payment.processorReference);
  }

  async function step(
    elicitation: Elicitation,
    ask: (processor: PaymentProcessor, charge: Charge, charging: Charging) => Promise<ChargeStatus>,
    unpaid: 'retry' | 'decline' | 'cancel' | 'expire',
  ): Promise<ChargeState> {
    if (!isCharging(elicitation)) return { state: 'settled', elicitation };
    const processor = p.processors.get(elicitation.request.processor);
    if (processor === undefined) {
      p.events.processorUnavailable(elicitation, elicitation.request.processor, 'not_configured');
      return { state: 'unavailable' };
    }
    try {
      const charge = await chargeOf(elicitation, processor);
      if (!('reference' in charge)) return { state: 'settled', elicitation: charge };
      return await record(elicitation, charge, await ask(processor, charge, elicitation), unpaid);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      p.events.processorUnavailable(elicitation, processor.name, error.code, error.details);
      return { state: 'unavailable' };
    }
  }

  const check = (elicitation: Elicitation): Promise<ChargeState> =>
    step(elicitation, (processor, charge) => processor.status(charge.reference), 'retry');

  return {
    /** Brings the charge into being where it is not yet. Asks the processor nothing else. */
    open: (elicitation: Elicitation): Promise<ChargeState> =>
      step(elicitation, async () => ({ state: 'open' }), 'retry'),

    /** What the processor says now. */
    check,

    /** Makes sure that it cannot be paid any more, or learns that it was, and ends it accordingly. */
    close: (elicitation: Elicitation, as: 'decline' | 'cancel' | 'expire'): Promise<ChargeState> =>
      step(elicitation, (processor, charge) => processor.close(charge.reference), as),

    /**
     * For MCP servers: takes the ask back.
     * @throws AlreadyEndedError (it was paid meanwhile, among others), DomainError `payment_in_progress`, ProblemError
     * `upstream_unavailable`
     */
    async cancel(elicitation: Elicitation): Promise<Elicitation> {
      const closed = await this.close(elicitation, 'cancel');
      if (closed.state === 'unavailable') throw new ProblemError('upstream_unavailable');
      if (closed.state !== 'settled')
        throw new DomainError('payment_in_progress', 'The processor is taking the payment.');
      if (closed.elicitation.status !== 'cancelled') throw new AlreadyEndedError(closed.elicitation.status);
      return closed.elicitation;
    },

    /**
     * The processor calls. What it says is only a hint to ask it.
     * @returns false when it could not be asked: the processor calls again.
     * @throws ProcessorError `signature_invalid`
     */
    async hear(
      processor: PaymentProcessor,
      call: { readonly body: Uint8Array; readonly headers: Record<string, string | undefined> },
    ): Promise<boolean> {
      const about = await processor.webhook(call);
      if (about === undefined) return true;
      const elicitationId = parseElicitationId(about.elicitationId);
      const elicitation = elicitationId === undefined ? undefined : await p.service.find(elicitationId);
      if (elicitation !== undefined && isCharging(elicitation)) {
        const checked = await check(elicitation);
        if (checked.state === 'unavailable') return false;
        const asked = checked.state === 'settled' ? checked.settledBy : checked.charge.reference;
        if (asked === about.reference) return true;
        return reportStray(processor, about, checked.state === 'settled' ? checked.elicitation : elicitation);
      }
      return reportStray(processor, about, elicitation);
    },
  };

  /** Something that nobody waits for any more: when it was paid all the same, somebody must pay it back. */
  async function reportStray(
    processor: PaymentProcessor,
    about: ChargeEvent,
    elicitation: Elicitation | undefined,
  ): Promise<boolean> {
    // Whoever made it has named no gateway, and nothing here knows of it: it is taken for another gateway's.
    if (elicitation === undefined && !about.namesGateway) return true;
    let status: ChargeStatus;
    try {
      status = await processor.status(about.reference);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      p.events.processorUnavailable(elicitation ?? about, processor.name, error.code, error.details);
      return false;
    }
    if (status.state !== 'paid' || (elicitation !== undefined && isPaidBy(elicitation, status.processorReference)))
      return true;
    const elicitationId = parseElicitationId(about.elicitationId);
    // The elicitation is forgotten long before the processor stops to repeat what it has said.
    const note =
      elicitationId === undefined ? undefined : await p.stores.payments.read(elicitationId, status.processorReference);
    if (note !== undefined) return true;
    await reportRefund(elicitationId, elicitation ?? { elicitationId: about.elicitationId }, {
      processor: processor.name,
      processorReference: status.processorReference,
      reason: elicitation?.status ?? 'unknown_elicitation',
    });
    return true;
  }
}

/** The charge of this attempt while it goes on, whoever has noted it; otherwise what became of the elicitation. */
function notedOf(elicitation: Elicitation, attempt: string): Charge | Elicitation {
  const isGoingOn = isCharging(elicitation) && elicitation.attempt === attempt;
  return isGoingOn && elicitation.charge !== undefined ? elicitation.charge : elicitation;
}

export type PaymentFlow = ReturnType<typeof createPaymentFlow>;
