import { covers } from './connection.ts';
import type { OneTime } from './decisions.ts';
import {
  type Elicitation,
  type ElicitationOf,
  type FailureCode,
  isCharging,
  isOfKind,
  isTerminal,
  type Trouble,
} from './elicitation.ts';
import { AlreadyEndedError, IllegalTransitionError, paymentInProgress } from './errors.ts';
import { connectionIdOf, type ElicitationId } from './ids.ts';
import type { Moves } from './moves.ts';
import type { NewConnection } from './ports.ts';
import { isSameSubject } from './subject.ts';

/**
 * How an attempt ends. Each verb names the attempt it speaks for, and only the one in progress is heard: an answer that
 * was overtaken by a newer attempt, a decision or the time is refused and changes nothing. A payment that is being charged
 * is ended by `settle` alone.
 */
export function createAttempts({ move }: Pick<Moves, 'move'>) {
  /**
   * The attempt came to nothing and the person may try again: at the provider, or with what they have typed.
   * @param missing with `fewer_scopes`: what was asked and not granted.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt), DomainError `payment_in_progress`
   */
  function retry(
    elicitationId: ElicitationId,
    attempt: string,
    trouble: Trouble,
    missing?: readonly string[],
  ): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAttempt(current, attempt, 'retry');
      if (isCharging(current)) throw paymentInProgress();
      const next = { status: 'pending' as const, trouble, ...(missing === undefined ? {} : { missing }) };
      return { events: ['retry'], next, auditedAs: { type: 'returned', trouble } };
    });
  }

  /**
   * The provider has answered; an external verifier must say who is there before the code is used.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt, or no authorization)
   */
  function hold(elicitationId: ElicitationId, attempt: string, verification: OneTime): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAuthorizing(current, attempt, 'hold');
      return {
        events: ['hold'],
        next: { status: 'verifying', attempt: verification.record.digest },
        putOneTime: verification,
        // What is held is worth nothing afterwards, and until it ends the same ask cannot be made again.
        expiresWithinMs: verification.ttlMs,
        auditedAs: { type: 'held' },
      };
    });
  }

  /**
   * Stores the connection and ends the elicitation in one commit.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt, or no authorization), TypeError (the connection is for
   * another ask, or for less than was asked)
   */
  function complete(elicitationId: ElicitationId, attempt: string, connection: NewConnection): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAuthorizing(current, attempt, 'complete');
      assertAnswers(connection, current);
      const { connectionId, provider, scopes } = connection;
      return {
        events: ['complete'],
        next: { status: 'completed', outcome: { kind: 'authorization', connectionId, provider, scopes } },
        putConnection: connection,
        auditedAs: { type: 'completed' },
      };
    });
  }

  /** @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt, or no authorization) */
  function fail(elicitationId: ElicitationId, attempt: string, failure: FailureCode): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAuthorizing(current, attempt, 'fail');
      return { events: ['fail'], next: { status: 'failed', failure }, auditedAs: { type: 'failed', failure } };
    });
  }

  return { retry, hold, complete, fail };
}

type Attempted = Elicitation & { readonly status: 'active' | 'verifying' };

/**
 * The attempt that an answer belongs to must be the one in progress; anything else is stale.
 * @throws AlreadyEndedError, IllegalTransitionError
 */
export function assertAttempt(current: Elicitation, attempt: string, verb: string): asserts current is Attempted {
  if (isTerminal(current)) throw new AlreadyEndedError(current.status);
  if (current.status === 'pending' || current.attempt !== attempt)
    throw new IllegalTransitionError(current.status, verb);
}

/** @throws AlreadyEndedError, IllegalTransitionError */
function assertAuthorizing(
  current: Elicitation,
  attempt: string,
  verb: string,
): asserts current is ElicitationOf<'authorization'> {
  assertAttempt(current, attempt, verb);
  if (!isOfKind(current, 'authorization')) throw new IllegalTransitionError(current.status, verb);
}

/**
 * Tokens never land with another person, provider or resource than was asked for, whatever the caller mixed up; and an MCP
 * server is never told that it has what the provider did not grant.
 */
function assertAnswers(
  connection: NewConnection,
  { elicitationId, subject, request }: ElicitationOf<'authorization'>,
): void {
  const { owner, provider, resource } = connection;
  const isItsAnswer =
    connection.elicitationId === elicitationId &&
    isSameSubject(connection.subject, subject) &&
    provider === request.provider &&
    resource === request.resource &&
    connection.connectionId === connectionIdOf({ owner, subject, provider, resource });
  if (!isItsAnswer) throw new TypeError('The connection does not belong to the elicitation.');
  if (!covers(connection.scopes, request.scopes))
    throw new TypeError('The connection lacks scopes that were asked for.');
}
