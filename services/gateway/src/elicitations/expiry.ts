import {
  type Clock,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  isCharging,
  type Stores,
} from '@postern/elicitation';
import { FIRST_CHECK_MS, type PaymentFlow } from '../payments/payment-flow.ts';
import type { Refunds } from '../payments/refunds.ts';

/** Bounds of the pause before the next status request to a processor. */
const PAUSE_MS = { least: FIRST_CHECK_MS, most: 3_600_000 };
/** The pause is this fraction of the time since the approval, or since the expiry. */
const PAUSE_DIVISOR = 4;
/** Maximum concurrent requests to one processor about charges, and about payments with pending refunds. */
const MAX_REQUESTS = 16;
/** The refunds of one MCP server take at most this share of the places that the others leave, so that the next one finds a place. */
const REFUNDS_SHARE = 0.5;

export interface ExpiryDeps {
  readonly service: Pick<ElicitationService, 'find' | 'expire'>;
  readonly paymentFlow: Pick<PaymentFlow, 'close' | 'check'>;
  readonly refunds: Pick<Refunds, 'check'>;
  readonly stores: {
    readonly elicitations: Pick<Stores['elicitations'], 'postpone'>;
    readonly payments: Pick<Stores['payments'], 'checkLater' | 'dropCheck'>;
  };
  readonly now: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Expires elicitations. A payment that may have been made stays open until its processor reports the result. It is rescheduled before the
 * request to the processor, so that replicas take turns, and another one takes over if one dies.
 *
 * A hanging processor delays only its own payments; other elicitations still expire on time.
 */
export class Expiry {
  readonly #deps: ExpiryDeps;
  /** The MCP server of each request, by what is asked of which processor. */
  readonly #underWay = new Map<string, Map<Promise<void>, string>>();

  constructor(deps: ExpiryDeps) {
    this.#deps = deps;
  }

  /** Expires an elicitation. For a charge, starts a request to the processor and does not wait for it. */
  async expire(elicitationId: ElicitationId): Promise<void> {
    const { service, paymentFlow, stores, now } = this.#deps;
    const elicitation = await service.find(elicitationId);
    if (elicitation === undefined || !isCharging(elicitation)) {
      await service.expire(elicitationId);
      return;
    }
    await stores.elicitations.postpone(elicitationId, pauseMs(now() - elicitation.expiresAt));
    this.#start('charge', atProcessor(elicitation), () => paymentFlow.close(elicitation, 'expire'));
  }

  /**
   * Asks the processor for the status of a charge before its expiry, because the user may have closed the window and the webhook may be
   * lost. Does not wait for the response.
   */
  async checkCharge(elicitationId: ElicitationId): Promise<void> {
    const { service, paymentFlow, stores, now } = this.#deps;
    const elicitation = await service.find(elicitationId);
    // Settled, returned to the user, or expired: `expire` closes an expired charge.
    if (elicitation === undefined || !isCharging(elicitation) || now() >= elicitation.expiresAt) {
      await stores.payments.dropCheck(elicitationId, 'charge');
      return;
    }
    await stores.payments.checkLater(elicitationId, 'charge', pauseMs(now() - elicitation.approval.at));
    this.#start('charge', atProcessor(elicitation), () => paymentFlow.check(elicitation));
  }

  /** Asks the processors about refunds that are not settled. Does not wait for the responses. */
  async checkRefunds(elicitationId: ElicitationId): Promise<void> {
    await this.#deps.refunds.check(elicitationId, (payment, requests) => this.#start('refunds', payment, requests));
  }

  /** Resolves when no request to a processor is in flight. */
  async idle(): Promise<void> {
    await Promise.all([...this.#underWay.values()].flatMap(ofPool => [...ofPool.keys()]));
  }

  /** @returns false at a limit: the request is skipped, and its caller has rescheduled it */
  #start(
    about: 'charge' | 'refunds',
    { processor, mcpServerId }: { readonly processor: string; readonly mcpServerId: string },
    request: () => Promise<unknown>,
  ): boolean {
    const underWay = this.#underWay;
    const pool = `${about} ${processor}`;
    const ofPool = underWay.get(pool) ?? new Map<Promise<void>, string>();
    const own = [...ofPool.values()].filter(id => id === mcpServerId).length;
    const left = MAX_REQUESTS - (ofPool.size - own);
    if (own >= (about === 'refunds' ? left * REFUNDS_SHARE : left)) return false;
    const started = request()
      .then(() => undefined, this.#deps.onError)
      .finally(() => {
        ofPool.delete(started);
        if (ofPool.size === 0) underWay.delete(pool);
      });
    underWay.set(pool, ofPool.set(started, mcpServerId));
    return true;
  }
}

function atProcessor({ mcpServerId, request }: ElicitationOf<'payment'>): {
  readonly processor: string;
  readonly mcpServerId: string;
} {
  return { processor: request.processor, mcpServerId };
}

/** Grows with the time since the approval or the expiry. */
function pauseMs(sinceMs: number): number {
  return Math.round(Math.min(Math.max(sinceMs / PAUSE_DIVISOR, PAUSE_MS.least), PAUSE_MS.most));
}
