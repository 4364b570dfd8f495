import {
  type Approval,
  type Charge,
  type Elicitation,
  type ElicitationOf,
  isCharging,
  isOfKind,
  isShownBy,
  isTerminal,
  type PaymentMode,
} from './elicitation.ts';
import { AlreadyEndedError, IllegalTransitionError, RequestChangedError } from './errors.ts';
import { type ElicitationId, type Entropy, newOperationId } from './ids.ts';
import { assertAttempt, type Decision, type Moves } from './moves.ts';
import type { SamePersonCheck, Visitor } from './same-person-check.ts';

export interface ApprovalsDeps extends Pick<Moves, 'move'> {
  readonly assertSamePerson: SamePersonCheck;
  readonly entropy: Entropy;
}

/** The end of a charge, according to the processor. */
export type Settlement =
  /** `processorReference` is the processor's own name for the payment. */
  | { readonly result: 'paid'; readonly processorReference: string; readonly mode?: PaymentMode }
  /**
   * Not paid, and no longer payable. `as` is the reason for closing. The store's clock decides whether the user may retry or the
   * elicitation has expired, so `retry` and `expire` have the same effect.
   */
  | { readonly result: 'closed'; readonly as: 'retry' | 'decline' | 'cancel' | 'expire' }
  /**
   * The processor refuses the payment and has no charge. Changes nothing if a charge is recorded, because that contradicts it.
   */
  | { readonly result: 'refused' }
  /** The user paid something other than they approved. */
  | { readonly result: 'mismatch' };

/** The user approves a payment or a confirmation, and the processor reports how the payment ended. */
export function createApprovals({ move, assertSamePerson, entropy }: ApprovalsDeps) {
  /**
   * Completes a confirmation, or a payment without a processor. Any other payment is charging from this commit on: any caller may
   * request the charge of this attempt from the processor, any number of times, and only `settle` ends it. One of several
   * concurrent approvals is committed. The others, and every repeat by the same person, return the committed record.
   * @throws NotFoundError, WrongPersonError, RequestChangedError (`shown` is not the digest of the request), AlreadyEndedError
   * (other than by approval), IllegalTransitionError (of a kind without approval), DailyLimitError (with `countWithin`)
   * @param p.countWithin as in `TransitionElicitation`
   */
  function approve(
    elicitationId: ElicitationId,
    visitor: Visitor,
    {
      shown,
      approval,
      countWithin,
    }: { readonly shown: string; readonly approval: Approval; readonly countWithin?: number },
  ): Promise<Elicitation> {
    return move(elicitationId, current => {
      assertSamePerson(current, visitor);
      if (!isOfKind(current, 'payment') && !isOfKind(current, 'confirmation'))
        throw new IllegalTransitionError(current.status, 'approve');
      if (!isShownBy(shown, current.request)) throw new RequestChangedError();
      if (current.status === 'completed' || isCharging(current)) return undefined;
      if (isTerminal(current)) throw new AlreadyEndedError(current.status);
      if (current.status !== 'pending') throw new IllegalTransitionError(current.status, 'approve');
      return {
        ...approved(current, approval),
        countWithin,
        auditedAs: { type: 'approved', method: approval.method, language: approval.language },
      };
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
   * Records where the user pays. Recording the same charge again changes nothing.
   * @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (not charging, stale attempt, or another charge is known)
   */
  function recordCharge(elicitationId: ElicitationId, attempt: string, charge: Charge): Promise<Elicitation> {
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
   * Commits the processor's result, whenever it arrives. The first settlement of an attempt counts. If the attempt was settled,
   * ended or restarted before, the stored record is returned unchanged. So after `paid`, check `isPaidBy`: if it is false, money
   * was taken for nothing and must be refunded.
   * @throws NotFoundError, IllegalTransitionError (of another kind)
   */
  function settle(elicitationId: ElicitationId, attempt: string, settlement: Settlement): Promise<Elicitation> {
    return move(elicitationId, (current, isOver) => {
      if (!isOfKind(current, 'payment')) throw new IllegalTransitionError(current.status, 'settle');
      if (!isCharging(current) || current.attempt !== attempt) return undefined;
      // Two replicas requested the charge under one key and the processor refused one: the user may already be paying the other.
      if (settlement.result === 'refused' && current.charge !== undefined) return undefined;
      return settled(current, settlement, isOver);
    });
  }

  return { approve, recordCharge, settle };
}

type Charging = Extract<Elicitation, { status: 'active' }> & ElicitationOf<'payment'> & { readonly approval: Approval };

function settled({ request, approval }: Charging, settlement: Settlement, isOver: boolean | undefined): Decision {
  switch (settlement.result) {
    case 'paid': {
      const { kind, digest, processor } = request;
      const { processorReference, mode } = settlement;
      const outcome = {
        kind,
        digest,
        approval,
        processor,
        processorReference,
        mode,
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
      const retryReason = 'payment_not_finished';
      return {
        events: ['retry'],
        next: { status: 'pending', retryReason },
        auditedAs: { type: 'returned', retryReason },
      };
    }
  }
}

function failed(failure: 'processor_refused' | 'payment_mismatch'): Decision {
  return { events: ['fail'], next: { status: 'failed', failure }, auditedAs: { type: 'failed', failure } };
}
