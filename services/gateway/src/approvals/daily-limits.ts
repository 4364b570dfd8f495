import {
  type Clock,
  type CountedPayment,
  DAILY_LIMIT_MS,
  type ElicitationOf,
  type PaymentStore,
} from '@postern/elicitation';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';

type Payment = ElicitationOf<'payment'>;

interface Proof {
  readonly hasPasskey: boolean;
  /** For a first passkey in its first 24 hours: maximum amount by which the total may exceed `passkeyAbove`. */
  readonly upTo?: number;
}

/** Whether the daily limits of the user allow a pending payment. */
export type DailyStanding =
  | { readonly result: 'within' | 'passkey_needed' }
  /** `from`: when the payment will be within the limit, in epoch milliseconds. Absent if the payment alone exceeds it. */
  | { readonly result: 'reached'; readonly from?: number };

/**
 * Limits on the total that one user approves within 24 hours, per MCP server and currency. Reads the configuration on every call, like the
 * passkey policy. The commit of the approval enforces the limit; `standingOf` is for the page.
 */
export function createDailyLimits(p: {
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: { readonly payments: Pick<PaymentStore, 'counted'> };
  now: Clock;
}) {
  const limitsOf = ({ mcpServerId, request }: Payment) =>
    p.mcpServers.get(mcpServerId)?.config.payment?.perPersonAndDay[request.terms.amount.currency];

  /** The other approved payments of the day. */
  async function countedBeside({ subject, mcpServerId, request, elicitationId }: Payment) {
    const { currency } = request.terms.amount;
    return (await p.stores.payments.counted({ subject, mcpServerId, currency })).filter(
      other => other.elicitationId !== elicitationId && other.approvedAt + DAILY_LIMIT_MS > p.now(),
    );
  }

  /** Maximum total of this payment and the other approved payments of the day, in minor units. Undefined without limits. */
  function countWithin(payment: Payment, { hasPasskey, upTo = Number.MAX_SAFE_INTEGER }: Proof): number | undefined {
    const limits = limitsOf(payment);
    if (limits === undefined) return undefined;
    const { max = Number.MAX_SAFE_INTEGER, passkeyAbove = max } = limits;
    return Math.min(max, hasPasskey ? passkeyAbove + upTo : passkeyAbove);
  }

  return {
    countWithin,

    /** Whether a first passkey may approve this payment in the 24 hours after it was added. Many small payments are one large one. */
    async isWithinFirstPasskeyLimit(payment: Payment, upTo: number): Promise<boolean> {
      if (payment.request.terms.amount.minorUnits > upTo) return false;
      const passkeyAbove = limitsOf(payment)?.passkeyAbove;
      return passkeyAbove === undefined || totalOf(payment, await countedBeside(payment)) <= passkeyAbove + upTo;
    },

    async standingOf(payment: Payment): Promise<DailyStanding> {
      const limits = limitsOf(payment);
      if (limits === undefined) return { result: 'within' };
      const counted = await countedBeside(payment);
      const total = totalOf(payment, counted);
      if (limits.max !== undefined && total > limits.max) {
        const from = fitsFrom(counted, total - limits.max);
        return { result: 'reached', from };
      }
      return { result: limits.passkeyAbove !== undefined && total > limits.passkeyAbove ? 'passkey_needed' : 'within' };
    },
  };
}

function totalOf({ request }: Payment, counted: readonly CountedPayment[]): number {
  return counted.reduce((sum, other) => sum + other.minorUnits, request.terms.amount.minorUnits);
}

/** Returns when approved payments of at least `excess` minor units no longer count. */
function fitsFrom(counted: readonly CountedPayment[], excess: number): number | undefined {
  let left = excess;
  for (const { approvedAt, minorUnits } of counted.toSorted((a, b) => a.approvedAt - b.approvedAt)) {
    left -= minorUnits;
    if (left <= 0) return approvedAt + DAILY_LIMIT_MS;
  }
  return undefined;
}

export type DailyLimits = ReturnType<typeof createDailyLimits>;
