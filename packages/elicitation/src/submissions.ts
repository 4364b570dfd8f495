import { isDeepStrictEqual } from 'node:util';
import type { NewCredential } from './credential.ts';
import { type Elicitation, type ElicitationOf, isOfKind, isShownBy, isTerminal } from './elicitation.ts';
import { AlreadyEndedError, IllegalTransitionError, RequestChangedError } from './errors.ts';
import { credentialIdOf, type ElicitationId, isSameSubject } from './ids.ts';
import type { Decision, Moves } from './moves.ts';
import type { SamePersonCheck, Visitor } from './same-person-check.ts';

export interface SubmissionsDeps extends Pick<Moves, 'move'> {
  readonly assertSamePerson: SamePersonCheck;
}

/** Typed values, sealed by the vault before they arrive here. */
export type Submission = {
  /** The digest on the page. */
  readonly shown: string;
  /** The attempt from `beginCheck` that this submission completes. */
  readonly attempt?: string;
} & (
  | { /** Redeemed once: a form, a credential with retention `once`. */ readonly sealed: string }
  | { /** With retention `lasting`. */ readonly credential: NewCredential }
);

/** The user types a credential or fills in a form. */
export function createSubmissions({ move, assertSamePerson }: SubmissionsDeps) {
  /**
   * Begins a live check of typed values. A newer check replaces the one in progress, which is then stale. Changes nothing if the
   * elicitation is already completed, or if this check has already begun.
   * @param attempt identifies the check; has no other meaning
   * @throws NotFoundError, WrongPersonError, AlreadyEndedError, IllegalTransitionError (no credential)
   */
  function beginCheck(elicitationId: ElicitationId, visitor: Visitor, attempt: string): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertSamePerson(current, visitor);
      if (!isOfKind(current, 'credential')) throw new IllegalTransitionError(current.status, 'be checked');
      if (current.status === 'completed') return undefined;
      const isBegun = assertOpen(current, 'be checked') === 'active';
      if (isBegun && 'attempt' in current && current.attempt === attempt) return undefined;
      return {
        events: isBegun ? ['retry', 'engage'] : ['engage'],
        next: { status: 'active', attempt },
        auditedAs: { type: 'accepted' },
      };
    });
  }

  /**
   * Stores the typed values and completes the elicitation in one commit. One of several concurrent calls is committed. The
   * others, and every repeat by the same person, return the stored record and their values are dropped.
   * @throws NotFoundError, WrongPersonError, RequestChangedError (`shown` is not the digest of the request), AlreadyEndedError
   * (other than by submission), IllegalTransitionError (stale check, or a kind without typed values), TypeError (the result does
   * not match the request)
   */
  function submit(elicitationId: ElicitationId, visitor: Visitor, submission: Submission): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertSamePerson(current, visitor);
      if (!isOfKind(current, 'credential') && !isOfKind(current, 'form'))
        throw new IllegalTransitionError(current.status, 'be submitted');
      if (!isShownBy(submission.shown, current.request)) throw new RequestChangedError();
      if (current.status === 'completed') return undefined;
      return {
        events: eventsOf(current, submission.attempt),
        ...answered(current, submission),
        auditedAs: { type: 'completed' },
      };
    });
  }

  return { beginCheck, submit };
}

/** @throws AlreadyEndedError, IllegalTransitionError */
function assertOpen(current: Elicitation, verb: string): 'pending' | 'active' {
  if (isTerminal(current)) throw new AlreadyEndedError(current.status);
  if (current.status === 'verifying') throw new IllegalTransitionError(current.status, verb);
  return current.status;
}

function eventsOf(current: Elicitation, attempt: string | undefined): Decision['events'] {
  const status = assertOpen(current, 'be submitted');
  if (attempt === undefined) return status === 'active' ? ['retry', 'engage', 'complete'] : ['engage', 'complete'];
  // Values typed into another tab since have replaced the ones of this check.
  if (!('attempt' in current) || current.attempt !== attempt) throw new IllegalTransitionError(status, 'be submitted');
  return ['complete'];
}

function answered(
  current: ElicitationOf<'credential'> | ElicitationOf<'form'>,
  submission: Submission,
): Pick<Decision, 'next' | 'putResult' | 'putCredential'> {
  const { request } = current;
  const isLasting = request.kind === 'credential' && request.retention === 'lasting';
  if ('sealed' in submission) {
    if (isLasting) throw new TypeError('What lasts is stored as a credential.');
    const outcome = request.kind === 'form' ? { kind: request.kind } : { kind: request.kind, name: request.name };
    return { next: { status: 'completed', outcome }, putResult: { sealed: submission.sealed } };
  }
  if (!isLasting || !isOfKind(current, 'credential')) throw new TypeError('What is redeemed once is no credential.');
  const { credential } = submission;
  assertAnswers(credential, current);
  const { credentialId, name } = credential;
  const outcome = { kind: 'credential', name, credentialId } as const;
  return { next: { status: 'completed', outcome }, putCredential: credential };
}

/** Keeps a secret from being stored for another person or under another name, even if the caller mixed them up. */
function assertAnswers(
  credential: NewCredential,
  { elicitationId, subject, request }: ElicitationOf<'credential'>,
): void {
  const { owner } = credential;
  const isItsAnswer =
    credential.elicitationId === elicitationId &&
    isSameSubject(credential.subject, subject) &&
    credential.name === request.name &&
    isDeepStrictEqual(
      credential.fields,
      request.fields.map(field => field.name),
    ) &&
    credential.credentialId === credentialIdOf({ owner, subject, name: request.name });
  if (!isItsAnswer) throw new TypeError('The credential does not belong to the elicitation.');
}
