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
import type { OneTime } from './one-time.ts';
import type { SamePersonCheck, Visitor } from './same-person-check.ts';

export interface DecisionsDeps extends Pick<Moves, 'move'> {
  readonly assertSamePerson: SamePersonCheck;
}

/** Decisions of the user on the page, and the cancellation by the MCP server before the user has answered. */
export function createDecisions({ move, assertSamePerson }: DecisionsDeps) {
  /**
   * Check 2 of an authorization: the user agrees and an attempt begins. A second acceptance replaces the attempt in progress, so
   * only the newest can end the elicitation. The request may have been widened since the page was rendered: the user agrees to
   * the scopes on the page, and the attempt covers no others.
   * @param agreedScopes the scopes that the page has shown, which the transaction requests
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
  function decline(from: ElicitationId | Elicitation, visitor: Visitor): Promise<Elicitation> {
    return move(from, current => {
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
   * @throws NotFoundError (also for elicitations of another MCP server), AlreadyEndedError, IllegalTransitionError (a response is
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

/** @throws AlreadyEndedError, IllegalTransitionError, DomainError `payment_in_progress` unless the user can still decide */
function assertUndecided(
  current: Elicitation,
  verb: string,
): asserts current is Elicitation & { status: 'pending' | 'active' } {
  if (isTerminal(current)) throw new AlreadyEndedError(current.status);
  if (current.status === 'verifying') throw new IllegalTransitionError(current.status, verb);
  if (isCharging(current)) throw paymentInProgress();
}
