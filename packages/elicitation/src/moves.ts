import { type Audit, type AuditFact, about, type Elicitation, isCharging, isTerminal } from './elicitation.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import {
  AlreadyEndedError,
  contention,
  DailyLimitError,
  IllegalTransitionError,
  NotFoundError,
  paymentInProgress,
  QuotaExceededError,
} from './errors.ts';
import { type ElicitationId, type Entropy, newOperationId } from './ids.ts';
import type { TransitionElicitation } from './transitions.ts';

export interface MovesDeps {
  readonly elicitations: ElicitationStore;
  readonly audit: Audit;
  readonly entropy: Entropy;
}

/** One transition with its effects, and its audit event. */
export interface Decision extends Omit<TransitionElicitation, 'current' | 'operationId'> {
  readonly auditedAs: AuditFact;
}

/**
 * Decides on the newest record; undefined changes nothing.
 * @param isOver whether the store reports it as expired; undefined if the store was not asked
 */
export type Decide = (current: Elicitation, isOver: boolean | undefined) => Decision | undefined;

/**
 * Maximum number of decisions for one transition or issue. Enough for any realistic race, including this many concurrent tool
 * calls that each widen the same elicitation.
 */
export const MAX_TRIES = 32;

/**
 * Decides on a record and commits against exactly that version. If another transition came first, decides again, so no decision
 * relies on a stale status. Each commit is audited once, by the caller that committed it.
 */
export function createMoves({ elicitations, audit, entropy }: MovesDeps) {
  /**
   * @param from its id, or a record that the caller has read: the commit checks its version, so it may be stale
   * @param decide may run several times, each time on the newest record; if it throws, nothing is written
   * @throws NotFoundError, QuotaExceededError, DailyLimitError, DomainError `contention`
   */
  async function move(from: ElicitationId | Elicitation, decide: Decide): Promise<Elicitation> {
    const operationId = newOperationId(entropy);
    const elicitationId = typeof from === 'string' ? from : from.elicitationId;
    let current = typeof from === 'string' ? await elicitations.read(elicitationId) : from;
    let isOver: boolean | undefined;
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      if (current === undefined) throw new NotFoundError();
      const decision = decide(current, isOver);
      if (decision === undefined) return current;
      const { auditedAs, ...effects } = decision;
      const result = await elicitations.transition({ current, operationId: `${operationId}${attempt}`, ...effects });
      switch (result.result) {
        case 'applied':
          audit({ ...about(result.elicitation), ...auditedAs }, result.elicitation);
          return result.elicitation;
        case 'missing':
          throw new NotFoundError();
        case 'over_quota':
          throw new QuotaExceededError(current.mcpServerId, result.retryAfterMs);
        case 'over_daily_limit':
          throw new DailyLimitError(result.spent);
        case 'conflict':
          current = result.current;
          break;
        case 'untimely':
          isOver = !decision.events.includes('expire');
          // Past `expiresAt`, but not marked as expired: expire it first, then decide. A charging payment ends differently.
          current = isOver && !isCharging(result.current) ? await expire(elicitationId) : result.current;
      }
    }
    throw contention();
  }

  /**
   * Ends an elicitation that has expired by the store's clock. Any number of replicas may call it. Does nothing before its expiry
   * and after its end.
   * @throws NotFoundError, DomainError `payment_in_progress`
   */
  function expire(elicitationId: ElicitationId): Promise<Elicitation> {
    return move(elicitationId, (current, isOver) => {
      if (isTerminal(current) || isOver === false) return undefined;
      if (isCharging(current)) throw paymentInProgress();
      // The user has done their part, so the page must not tell them that they were too late.
      if (current.status === 'verifying') {
        const failure = 'verification_expired';
        return { events: ['expire'], next: { status: 'failed', failure }, auditedAs: { type: 'failed', failure } };
      }
      return { events: ['expire'], next: { status: 'expired' }, auditedAs: { type: 'expired' } };
    });
  }

  return { move, expire };
}

export type Moves = ReturnType<typeof createMoves>;

type Attempted = Elicitation & { readonly status: 'active' | 'verifying' };

/**
 * A response must belong to the attempt in progress; any other attempt is stale.
 * @throws AlreadyEndedError, IllegalTransitionError
 */
export function assertAttempt(current: Elicitation, attempt: string, verb: string): asserts current is Attempted {
  if (isTerminal(current)) throw new AlreadyEndedError(current.status);
  if (current.status === 'pending' || current.attempt !== attempt)
    throw new IllegalTransitionError(current.status, verb);
}
