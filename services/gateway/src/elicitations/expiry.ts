import {
  type Clock,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  isCharging,
  type Stores,
} from '@postern/elicitation';
import { FIRST_CHECK_MS, type PaymentFlow } from '../approvals/payment-flow.ts';
import type { RefundFlow } from '../approvals/refund-flow.ts';

/** Bounds of the pause before the next status request to a processor. */
const PAUSE_MS = { least: FIRST_CHECK_MS, most: 3_600_000 };
/** The pause is this fraction of the time since the approval, or since the expiry. */
const PAUSE_DIVISOR = 4;
/** Maximum concurrent requests to one processor about charges, and about payments with pending refunds. */
const MAX_REQUESTS = 16;
/** The refunds of one MCP server take at most this share of the places that the others leave, so that the next one finds a place. */
const REFUNDS_SHARE = 0.5;

export interface Expiry {
  /** Expires an elicitation. For a charge, starts a request to the processor and does not wait for it. */
  expire(elicitationId: ElicitationId): Promise<void>;
  /**
   * Asks the processor for the status of a charge before its expiry, because the user may have closed the window and the webhook may be
   * lost. Does not wait for the response.
   */
  checkCharge(elicitationId: ElicitationId): Promise<void>;
  /** Asks the processors about refunds that are not settled. Does not wait for the responses. */
  checkRefunds(elicitationId: ElicitationId): Promise<void>;
  /** Resolves when no request to a processor is in flight. */
  idle(): Promise<void>;
}

/**
 * Expires elicitations. A payment that may have been made stays open until its processor reports the result. It is rescheduled before the
 * request to the processor, so that replicas take turns, and another one takes over if one dies.
 *
 * A hanging processor delays only its own payments; other elicitations still expire on time.
 */
export function createExpiry(p: {
  service: Pick<ElicitationService, 'find' | 'expire'>;
  stores: {
    readonly elicitations: Pick<Stores['elicitations'], 'postpone'>;
    readonly payments: Pick<Stores['payments'], 'checkLater' | 'dropCheck'>;
  };
  paymentFlow: Pick<PaymentFlow, 'close' | 'check'>;
  refundFlow: Pick<RefundFlow, 'check'>;
  now: Clock;
  onError: (error: unknown) => void;
}): Expiry {
  /** The MCP server of each request, by what is asked of which processor. */
  const underWay = new Map<string, Map<Promise<void>, string>>();

  /** @returns false at a limit: the request is skipped, and its caller has rescheduled it */
  function start(
    about: 'charge' | 'refunds',
    { processor, mcpServerId }: { readonly processor: string; readonly mcpServerId: string },
    request: () => Promise<unknown>,
  ): boolean {
    const pool = `${about} ${processor}`;
    const ofPool = underWay.get(pool) ?? new Map<Promise<void>, string>();
    const own = [...ofPool.values()].filter(id => id === mcpServerId).length;
    const left = MAX_REQUESTS - (ofPool.size - own);
    if (own >= (about === 'refunds' ? left * REFUNDS_SHARE : left)) return false;
    const started = request()
      .then(() => undefined, p.onError)
      .finally(() => {
        ofPool.delete(started);
        if (ofPool.size === 0) underWay.delete(pool);
      });
    underWay.set(pool, ofPool.set(started, mcpServerId));
    return true;
  }

  const ofCharge = ({ mcpServerId, request }: ElicitationOf<'payment'>) => ({
    processor: request.processor,
    mcpServerId,
  });

  return {
    async expire(elicitationId) {
      const elicitation = await p.service.find(elicitationId);
      if (elicitation === undefined || !isCharging(elicitation)) {
        await p.service.expire(elicitationId);
        return;
      }
      await p.stores.elicitations.postpone(elicitationId, pauseMs(p.now() - elicitation.expiresAt));
      start('charge', ofCharge(elicitation), () => p.paymentFlow.close(elicitation, 'expire'));
    },

    async checkCharge(elicitationId) {
      const elicitation = await p.service.find(elicitationId);
      // Settled, returned to the user, or expired: `expire` closes an expired charge.
      if (elicitation === undefined || !isCharging(elicitation) || p.now() >= elicitation.expiresAt) {
        await p.stores.payments.dropCheck(elicitationId, 'charge');
        return;
      }
      await p.stores.payments.checkLater(elicitationId, 'charge', pauseMs(p.now() - elicitation.approval.at));
      start('charge', ofCharge(elicitation), () => p.paymentFlow.check(elicitation));
    },

    async checkRefunds(elicitationId) {
      await p.refundFlow.check(elicitationId, (payment, requests) => start('refunds', payment, requests));
    },

    async idle() {
      await Promise.all([...underWay.values()].flatMap(ofPool => [...ofPool.keys()]));
    },
  };
}

/** Grows with the time since the approval or the expiry. */
function pauseMs(sinceMs: number): number {
  return Math.round(Math.min(Math.max(sinceMs / PAUSE_DIVISOR, PAUSE_MS.least), PAUSE_MS.most));
}
