import { type Clock, type ElicitationId, type ElicitationService, isCharging } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { FIRST_CHECK_MS, type PaymentFlow } from './payment-flow.ts';

/** How long a processor that does not know yet, or does not answer, is left alone: longer, the longer it has not known. */
const ASK_AGAIN_MS = { least: FIRST_CHECK_MS, most: 3_600_000 };
/** Of the time since the approval, or since the end of the time to live, a part passes before it is asked again. */
const ASK_AGAIN_SHARE = 4;
/** Questions to processors under way at once. */
const MAX_ASKING = 16;

export interface EndingByTime {
  /** Ends what is over. What a processor has to be asked about goes on after this. */
  end(elicitationId: ElicitationId): Promise<void>;
  /**
   * Asks the processor how a charge stands that is still in time: its person may have closed the window, and no webhook may come. The
   * question goes on after this.
   */
  check(elicitationId: ElicitationId): Promise<void>;
  /** Resolves when no processor is being asked any more. */
  idle(): Promise<void>;
}

/**
 * Elicitations whose time is over. What may have been paid ends by what the processor says, and stays open until it has said it. It is
 * put back before the processor is asked, so that replicas take turns, and one that dies meanwhile leaves it to the next.
 *
 * A processor that hangs holds up nothing but its own payments: everybody else's elicitations go on ending, and waiters hear of it.
 */
export function createEndingByTime(p: {
  service: Pick<ElicitationService, 'find' | 'expire'>;
  stores: {
    readonly elicitations: Pick<RedisStores['elicitations'], 'postpone'>;
    readonly payments: Pick<RedisStores['payments'], 'checkLater' | 'dropCheck'>;
  };
  paymentFlow: Pick<PaymentFlow, 'close' | 'check'>;
  now: Clock;
  onError: (error: unknown) => void;
}): EndingByTime {
  const asking = new Set<Promise<void>>();

  function ask(question: () => Promise<unknown>): void {
    // Too many wait for an answer already: its turn comes again.
    if (asking.size >= MAX_ASKING) return;
    const asked = question()
      .then(() => undefined, p.onError)
      .finally(() => asking.delete(asked));
    asking.add(asked);
  }

  return {
    async end(elicitationId) {
      const elicitation = await p.service.find(elicitationId);
      if (elicitation === undefined || !isCharging(elicitation)) {
        await p.service.expire(elicitationId);
        return;
      }
      await p.stores.elicitations.postpone(elicitationId, askAgainMs(p.now() - elicitation.expiresAt));
      ask(() => p.paymentFlow.close(elicitation, 'expire'));
    },

    async check(elicitationId) {
      const elicitation = await p.service.find(elicitationId);
      // Decided, given back to its person, or over: then it is closed instead, by `end`.
      if (elicitation === undefined || !isCharging(elicitation) || p.now() >= elicitation.expiresAt) {
        await p.stores.payments.dropCheck(elicitationId);
        return;
      }
      await p.stores.payments.checkLater(elicitationId, askAgainMs(p.now() - elicitation.approval.at));
      ask(() => p.paymentFlow.check(elicitation));
    },

    async idle() {
      await Promise.all(asking);
    },
  };
}

function askAgainMs(sinceMs: number): number {
  return Math.round(Math.min(Math.max(sinceMs / ASK_AGAIN_SHARE, ASK_AGAIN_MS.least), ASK_AGAIN_MS.most));
}
