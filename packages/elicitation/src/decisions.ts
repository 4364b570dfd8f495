import { covers } from './connection.ts';
import { type Elicitation, isCharging, isOfKind, isTerminal } from './elicitation.ts';
import {
  AlreadyEndedError,
  IllegalTransitionError,
  NotFoundError,
  paymentInProgress,
  RequestChangedError,
} from './errors.ts';
import type { ElicitationId } from './ids.ts';
import type { McpServer } from './mcp-server.ts';
import type { Moves } from './moves.ts';
import type { OneTimeRecord } from './ports.ts';
import type { SamePersonCheck } from './same-person-check.ts';
import type { Visitor } from './visitor.ts';

export interface DecisionsDeps extends Pick<Moves, 'move'> {
  readonly assertSamePerson: SamePersonCheck;
}

export interface OneTime {
  readonly record: OneTimeRecord;
  readonly ttlMs: number;
}

/** What the person decides at the page, and what the MCP server may take back while nobody has answered. */
export function createDecisions({ move, assertSamePerson }: DecisionsDeps) {
  /**
   * Check 2 of an authorization: the person agrees and an attempt begins. A second acceptance replaces the attempt in progress, so only the
   * newest can end the elicitation. What is asked may have been widened since the page was drawn: the person agrees to the
   * scopes they were shown, and the attempt is made for no others.
   * @param agreedScopes what the page has shown and the transaction is for.
   * @throws NotFoundError, WrongPersonError, AlreadyEndedError, IllegalTransitionError, RequestChangedError
   */
  function accept(
    elicitationId: ElicitationId,
    visitor: Visitor,
    transaction: OneTime,
    agreedScopes: readonly string[],
  ): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertSamePerson(current, visitor);
      assertUndecided(current, 'accept');
      if (!isOfKind(current, 'authorization')) throw new IllegalTransitionError(current.status, 'accept');
      if (!covers(agreedScopes, current.request.scopes)) throw new RequestChangedError();
      return {
        events: current.status === 'pending' ? ['engage'] : ['retry', 'engage'],
        next: { status: 'active', attempt: transaction.record.digest },
        putOneTime: transaction,
        auditedAs: { type: 'accepted' },
      };
    });
  }

  /**
   * Repeating it changes nothing.
   * @throws NotFoundError, WrongPersonError, AlreadyEndedError, IllegalTransitionError, DomainError `payment_in_progress`
   */
  function decline(elicitationId: ElicitationId, visitor: Visitor): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertSamePerson(current, visitor);
      if (current.status === 'declined') return undefined;
      assertUndecided(current, 'decline');
      return {
        events: current.status === 'pending' ? ['engage', 'decline'] : ['decline'],
        next: { status: 'declined' },
        auditedAs: { type: 'declined' },
      };
    });
  }

  /**
   * Repeating it changes nothing.
   * @throws NotFoundError (also for those of another MCP server), AlreadyEndedError, IllegalTransitionError (an answer is
   * being verified), DomainError `payment_in_progress`
   */
  function cancel(mcpServer: Pick<McpServer, 'mcpServerId'>, elicitationId: ElicitationId): Promise<Elicitation> {
    return move(elicitationId, current => {
      if (current.mcpServerId !== mcpServer.mcpServerId) throw new NotFoundError();
      if (current.status === 'cancelled') return undefined;
      assertUndecided(current, 'cancel');
      return { events: ['cancel'], next: { status: 'cancelled' }, auditedAs: { type: 'cancelled' } };
    });
  }

  return { accept, decline, cancel };
}

/** @throws AlreadyEndedError, IllegalTransitionError, DomainError `payment_in_progress` unless a person can still decide. */
function assertUndecided(
  current: Elicitation,
  verb: string,
): asserts current is Elicitation & { status: 'pending' | 'active' } {
  if (isTerminal(current)) throw new AlreadyEndedError(current.status);
  if (current.status === 'verifying') throw new IllegalTransitionError(current.status, verb);
  if (isCharging(current)) throw paymentInProgress();
}
