import { isShownBy } from './ask-digest.ts';
import { assertAttempt } from './attempts.ts';
import { type Elicitation, type ElicitationOf, isCharging, isOfKind, isTerminal } from './elicitation.ts';
import { AlreadyEndedError, IllegalTransitionError, RequestChangedError } from './errors.ts';
import { type ElicitationId, type Entropy, newOperationId } from './ids.ts';
import type { Decision, Moves } from './moves.ts';
import type { Approval, Charge, PaymentMode } from './requests.ts';
import type { SamePersonCheck } from './same-person-check.ts';
import type { Visitor } from './visitor.ts';

export interface ApprovalsDeps extends Pick<Moves, 'move'> {
  readonly assertSamePerson: SamePersonCheck;
  readonly entropy: Entropy;
}

/** What became of a charge, according to the processor. */
export type Settlement =
  /** `processorReference` is the processor's own name for the payment. */
  | { readonly result: 'paid'; readonly processorReference: string; readonly mode?: PaymentMode }
  /**
   * Not paid, and it cannot be paid any more. `as`: why it was closed. Whether the person may try again or their time is over is
   * the store's word, so `retry` and `expire` come to the same.
   */
  | { readonly result: 'closed'; readonly as: 'retry' | 'decline' | 'cancel' | 'expire' }
  /** The processor will not take it; nothing exists there. Said of a charge that is noted it is wrong, and changes nothing. */
  | { readonly result: 'refused' }
  /** Something else was paid than was approved. */
  | { readonly result: 'mismatch' };

/** The person approves a payment or a confirmation, and the processor says what became of the payment. */
export function createApprovals({ move, assertSamePerson, entropy }: ApprovalsDeps) {
  /**
   * Ends a confirmation, and a payment without a processor. Any other payment is charging from this commit on: whoever reads it
   * may ask the processor for the charge of its attempt, however often, and nothing but `settle` ends it. Of many approvals at
   * once one is committed; the others, and every repeat by the same person, are answered with what became of it.
   * @throws NotFoundError, WrongPersonError, RequestChangedError (`shown` is not the digest of what is asked), AlreadyEndedError
   * (otherwise than by approval), IllegalTransitionError (of a kind that is not approved)
   */
  function approve(
    elicitationId: ElicitationId,
    visitor: Visitor,
    { shown, approval }: { readonly shown: string; readonly approval: Approval },
  ): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertSamePerson(current, visitor);
      if (!isOfKind(current, 'payment') && !isOfKind(current, 'confirmation'))
        throw new IllegalTransitionError(current.status, 'approve');
      if (!isShownBy(shown, current.request)) throw new RequestChangedError();
      if (current.status === 'completed' || isCharging(current)) return undefined;
      if (isTerminal(current)) throw new AlreadyEndedError(current.status);
      if (current.status !== 'pending') throw new IllegalTransitionError(current.status, 'approve');
      return { ...approved(current, approval), auditedAs: { type: 'approved', method: approval.method } };
    });
  }

  function approved(
    { request }: ElicitationOf<'payment'> | ElicitationOf<'confirmation'>,
    approval: Approval,
  ): Pick<Decision, 'events' | 'next'> {
    const { kind, digest } = request;
    if (kind === 'payment' && request.processor !== 'none')
      return { events: ['engage'], next: { status: 'active', attempt: newOperationId(entropy), approval } };
    const outcome =
      kind === 'payment' ? { kind, digest, approval, processor: request.processor } : { kind, digest, approval };
    return { events: ['engage', 'complete'], next: { status: 'completed', outcome } };
  }

  /**
   * Remembers where it is paid. The same charge again changes nothing.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (not charging, stale attempt, or another charge is known)
   */
  function noteCharge(elicitationId: ElicitationId, attempt: string, charge: Charge): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertAttempt(current, attempt, 'charge');
      if (!isCharging(current)) throw new IllegalTransitionError(current.status, 'charge');
      if (current.charge !== undefined) {
        if (current.charge.reference === charge.reference) return undefined;
        throw new IllegalTransitionError(current.status, 'charge again');
      }
      const { approval } = current;
      return {
        events: ['charge'],
        next: { status: 'active', attempt, approval, charge },
        auditedAs: { type: 'charged' },
      };
    });
  }

  /**
   * Commits what the processor says, whenever it comes. The first settlement of an attempt counts; where it was settled, ended or
   * begun anew before, the record is answered as it is. So after `paid`, ask `isPaidBy`: if it is false, money was taken that
   * nothing is given for, and somebody must be told.
   * @throws NotFoundError, IllegalTransitionError (of another kind)
   */
  function settle(elicitationId: ElicitationId, attempt: string, settlement: Settlement): Promise<Elicitation> {
    return move(elicitationId, (current, isOver) => {
      if (!isOfKind(current, 'payment')) throw new IllegalTransitionError(current.status, 'settle');
      if (!isCharging(current) || current.attempt !== attempt) return undefined;
      // Two ask under one key and only one is let in: the person may be paying already where that one has led them.
      if (settlement.result === 'refused' && current.charge !== undefined) return undefined;
      return settled(current, settlement, isOver);
    });
  }

  return { approve, noteCharge, settle };
}

type Charging = Extract<Elicitation, { status: 'active' }> & ElicitationOf<'payment'> & { readonly approval: Approval };

function settled({ request, approval }: Charging, settlement: Settlement, isOver: boolean | undefined): Decision {
  switch (settlement.result) {
    case 'paid': {
      const { kind, digest, processor } = request;
      const { processorReference, mode } = settlement;
      const outcome = {
        ...{ kind, digest, approval, processor, processorReference },
        ...(mode === undefined ? {} : { mode }),
      };
      return { events: ['complete'], next: { status: 'completed', outcome }, auditedAs: { type: 'completed' } };
    }
    case 'closed':
      return closed(settlement.as, isOver);
    case 'refused':
      return failed('processor_refused');
    case 'mismatch':
      return failed('payment_mismatch');
  }
}

function closed(as: Extract<Settlement, { result: 'closed' }>['as'], isOver: boolean | undefined): Decision {
  switch (as) {
    case 'decline':
      return { events: ['decline'], next: { status: 'declined' }, auditedAs: { type: 'declined' } };
    case 'cancel':
      return { events: ['cancel'], next: { status: 'cancelled' }, auditedAs: { type: 'cancelled' } };
    case 'retry':
    case 'expire': {
      if (isOver ?? as === 'expire')
        return { events: ['expire'], next: { status: 'expired' }, auditedAs: { type: 'expired' } };
      const trouble = 'payment_not_finished';
      return { events: ['retry'], next: { status: 'pending', trouble }, auditedAs: { type: 'returned', trouble } };
    }
  }
}

function failed(failure: 'processor_refused' | 'payment_mismatch'): Decision {
  return { events: ['fail'], next: { status: 'failed', failure }, auditedAs: { type: 'failed', failure } };
}
