import { isDeepStrictEqual } from 'node:util';
import { isShownBy } from './ask-digest.ts';
import type { NewCredential } from './credential.ts';
import { type Elicitation, type ElicitationOf, isOfKind, isTerminal } from './elicitation.ts';
import { AlreadyEndedError, IllegalTransitionError, RequestChangedError } from './errors.ts';
import { credentialIdOf, type ElicitationId } from './ids.ts';
import type { Decision, Moves } from './moves.ts';
import type { SamePersonCheck } from './same-person-check.ts';
import { isSameSubject } from './subject.ts';
import type { Visitor } from './visitor.ts';

export interface SubmissionsDeps extends Pick<Moves, 'move'> {
  readonly assertSamePerson: SamePersonCheck;
}

/** What the person typed, sealed by the vault before it comes here. */
export type Submission = {
  /** The digest that the page has shown. */
  readonly shown: string;
  /** After `beginCheck`: the check this speaks for. */
  readonly attempt?: string;
} & (
  | { /** Redeemed once: a form, a credential with retention `once`. */ readonly sealed: string }
  | { /** With retention `lasting`. */ readonly credential: NewCredential }
);

/** The person types a credential or fills in a form. */
export function createSubmissions({ move, assertSamePerson }: SubmissionsDeps) {
  /**
   * What was typed is about to be tried where it is for. A newer check replaces the one in progress, which is stale from then
   * on. When it has been completed already, or this check has begun already, nothing changes.
   * @param attempt names the check; of no meaning outside.
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
   * Stores what was typed and ends the elicitation in one commit. Of many at once one is committed; the others, and every repeat
   * by the same person, are answered with what became of it, and what they bring is dropped.
   * @throws NotFoundError, WrongPersonError, RequestChangedError (`shown` is not the digest of what is asked), AlreadyEndedError
   * (otherwise than by submission), IllegalTransitionError (stale check, or of a kind that is not submitted), TypeError (the
   * result is not what was asked for)
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
  // What was typed into another tab since has replaced what this check was about.
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

/** A secret never lands with another person or under another name than was asked for, whatever the caller mixed up. */
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
