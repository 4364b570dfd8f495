import { covers, type NewConnection } from './connection.ts';
import {
  type Elicitation,
  type ElicitationOf,
  type FailureCode,
  isCharging,
  isOfKind,
  type RetryReason,
} from './elicitation.ts';
import { IllegalTransitionError, paymentInProgress } from './errors.ts';
import { connectionIdOf, type ElicitationId, isSameSubject } from './ids.ts';
import { assertAttempt, type Moves } from './moves.ts';
import type { OneTime } from './one-time.ts';

/**
 * The ends of an attempt. Each verb names its attempt, and only the one in progress counts: a response that a newer attempt, a
 * decision or expiry has superseded is refused and changes nothing. Only `settle` ends a charging payment.
 */
export function createAttempts({ move }: Pick<Moves, 'move'>) {
  /**
   * Ends the attempt without a result, and the user may retry: at the provider, or by typing again.
   * @param missing with `fewer_scopes`: the requested scopes that were not granted
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt), DomainError `payment_in_progress`
   */
  function retry(
    elicitationId: ElicitationId,
    attempt: string,
    retryReason: RetryReason,
    missing?: readonly string[],
  ): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAttempt(current, attempt, 'retry');
      if (isCharging(current)) throw paymentInProgress();
      const next = { status: 'pending' as const, retryReason, missing };
      return { events: ['retry'], next, auditedAs: { type: 'returned', retryReason } };
    });
  }

  /**
   * Holds the provider's response until an external verifier has identified the user; only then is the code used.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt, or no authorization)
   */
  function hold(elicitationId: ElicitationId, attempt: string, verification: OneTime): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAuthorizing(current, attempt, 'hold');
      return {
        events: ['hold'],
        next: { status: 'verifying', attempt: verification.record.digest },
        putOneTime: verification,
        // The held response is worthless afterwards, and until the elicitation ends the same request cannot be issued again.
        expiresWithinMs: verification.ttlMs,
        auditedAs: { type: 'held' },
      };
    });
  }

  /**
   * Stores the connection and completes the elicitation in one commit.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (stale attempt, or no authorization), TypeError (the
   * connection is for another request, or has fewer scopes than requested)
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
 * Keeps tokens from another person, provider or resource out of this elicitation, even if the caller mixed them up, and keeps an MCP
 * server from believing that it has scopes that the provider did not grant.
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
