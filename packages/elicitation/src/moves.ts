import { type Audit, type AuditFact, about } from './audit.ts';
import { contention, MAX_TRIES } from './contention.ts';
import { type Elicitation, isCharging, isTerminal } from './elicitation.ts';
import { NotFoundError, paymentInProgress, QuotaExceededError } from './errors.ts';
import { type ElicitationId, type Entropy, newOperationId } from './ids.ts';
import type { ElicitationStore, TransitionElicitation } from './ports.ts';

export interface MovesDeps {
  readonly elicitations: ElicitationStore;
  readonly audit: Audit;
  readonly entropy: Entropy;
}

/** One move of the table with its effects, and how it is audited once it is committed. */
export interface Decision extends Omit<TransitionElicitation, 'current' | 'operationId'> {
  readonly auditedAs: AuditFact;
}

/**
 * Decides on the newest record; undefined leaves everything as it is.
 * @param isOver what the store has said about the time of it; undefined when it has not been asked.
 */
export type Decide = (current: Elicitation, isOver: boolean | undefined) => Decision | undefined;

/**
 * Decides on what was read and commits against exactly that version; when another move came first, decides again. Nothing
 * here trusts that a status still is what it was a moment ago. Audited is what was committed: once, by who committed it.
 */
export function createMoves({ elicitations, audit, entropy }: MovesDeps) {
  /**
   * @param decide may run several times, each time on the newest record; what it throws ends the attempt before anything is
   * written.
   * @throws NotFoundError, QuotaExceededError, DomainError `contention`
   */
  async function move(elicitationId: ElicitationId, decide: Decide): Promise<Elicitation> {
    const operationId = newOperationId(entropy);
    let current = await elicitations.read(elicitationId);
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
        case 'conflict':
          current = result.current;
          break;
        case 'untimely':
          isOver = !decision.events.includes('expire');
          // Its time is over and nobody has said so yet: say it, then decide on that. What may have been paid ends otherwise.
          current = isOver && !isCharging(result.current) ? await expire(elicitationId) : result.current;
      }
    }
    throw contention();
  }

  /**
   * Ends an elicitation whose time is over, on the store's clock; any number of replicas may call it. A no-op before its
   * time and after its end.
   * @throws NotFoundError, DomainError `payment_in_progress`
   */
  function expire(elicitationId: ElicitationId): Promise<Elicitation> {
    return move(elicitationId, (current, isOver) => {
      if (isTerminal(current) || isOver === false) return undefined;
      if (isCharging(current)) throw paymentInProgress();
      // The person has done their part; that the answer was never verified is not theirs to explain.
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
