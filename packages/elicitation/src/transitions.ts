import { isDeepStrictEqual } from 'node:util';
import { covers, type NewConnection } from './connection.ts';
import type { NewCredential } from './credential.ts';
import {
  type ActiveElicitation,
  type CompletedElicitation,
  type Elicitation,
  type ElicitationRequest,
  type ElicitationStatus,
  type EndedElicitation,
  type FailedElicitation,
  isCharging,
  type PendingElicitation,
  type RequestedBy,
  type VerifyingElicitation,
} from './elicitation.ts';
import { IllegalTransitionError } from './errors.ts';
import type { OneTime } from './one-time.ts';
import type { PaymentFacts } from './payment.ts';

/**
 * The only table of transitions.
 *
 * ```
 * pending ─engage─▶ active ─complete─▶ completed        active ─retry─▶ pending
 *    │                │ ├─decline─▶ declined
 *    │                │ ├─fail────▶ failed
 *    │                │ └─hold────▶ verifying ─complete─▶ completed
 *    │                │                 ├────fail──▶ failed
 *    │                │                 └──expire──▶ failed
 *    └──────┬─────────┘
 *           ├─cancel─▶ cancelled
 *           └─expire─▶ expired
 * ```
 *
 * `charge` keeps an active payment active: the processor has returned where to pay. From its approval on, only the processor's
 * result ends a payment that a processor takes.
 * `widen` keeps a pending elicitation pending: a second request of the same MCP server for the same account adds its scopes.
 *
 * A transition along two arrows in one commit names both events (a user who declines immediately engages and declines). The
 * status in between is never visible. Terminal statuses never change.
 */
export const transitions = [
  { from: 'pending', event: 'engage', to: 'active' },
  { from: 'pending', event: 'widen', to: 'pending' },
  { from: 'pending', event: 'cancel', to: 'cancelled' },
  { from: 'pending', event: 'expire', to: 'expired' },
  { from: 'active', event: 'retry', to: 'pending' },
  { from: 'active', event: 'charge', to: 'active' },
  { from: 'active', event: 'hold', to: 'verifying' },
  { from: 'active', event: 'complete', to: 'completed' },
  { from: 'active', event: 'decline', to: 'declined' },
  { from: 'active', event: 'fail', to: 'failed' },
  { from: 'active', event: 'cancel', to: 'cancelled' },
  { from: 'active', event: 'expire', to: 'expired' },
  { from: 'verifying', event: 'complete', to: 'completed' },
  { from: 'verifying', event: 'fail', to: 'failed' },
  { from: 'verifying', event: 'expire', to: 'failed' },
] as const satisfies readonly { from: ElicitationStatus; event: string; to: ElicitationStatus }[];

export type TransitionEvent = (typeof transitions)[number]['event'];
export type TerminalStatus = Exclude<ElicitationStatus, (typeof transitions)[number]['from']>;

/** Returns the status that the events lead to, or undefined if the table has no transition for one of them. */
function destinationOf(from: ElicitationStatus, events: readonly TransitionEvent[]): ElicitationStatus | undefined {
  let status: ElicitationStatus | undefined = from;
  for (const event of events) {
    status = transitions.find(row => row.from === status && row.event === event)?.to;
    if (status === undefined) return undefined;
  }
  return status;
}

/**
 * @throws IllegalTransitionError if the events do not lead from `from` to `to`, or if there are none
 * @internal exported for tests
 */
export function assertMove(from: ElicitationStatus, events: readonly TransitionEvent[], to: ElicitationStatus): void {
  // Without an event there is no transition: not even a terminal record may be overwritten by itself.
  if (events.length === 0 || destinationOf(from, events) !== to)
    throw new IllegalTransitionError(from, events.join('+'));
}

/** What a transition decides. The store decides version and times. */
export type NextElicitation =
  | (Pick<PendingElicitation, 'status' | 'retryReason' | 'missing'> & {
      /** Only for `widen`. */ readonly scopes?: readonly string[];
    })
  | Pick<ActiveElicitation, 'status' | 'attempt' | 'approval' | 'charge'>
  | Pick<VerifyingElicitation, 'status' | 'attempt'>
  | Pick<CompletedElicitation, 'status' | 'outcome'>
  | Pick<FailedElicitation, 'status' | 'failure'>
  | Pick<EndedElicitation, 'status'>;

export interface TransitionElicitation {
  /** The elicitation that the decision was made on. Its version must still be the stored one. */
  readonly current: Elicitation;
  readonly events: readonly TransitionEvent[];
  readonly next: NextElicitation;
  readonly operationId: string;
  /** Replaces that of the attempt in progress: a late response finds it spent for ten minutes. So attempts do not add up in the quota. */
  readonly putOneTime?: OneTime;
  readonly putConnection?: NewConnection;
  readonly putCredential?: NewCredential;
  /**
   * Typed values, sealed by the vault. Kept as long as the elicitation, even after redemption, because a repeat gets them again.
   */
  readonly putResult?: { readonly sealed: string };
  /** Shortens the remaining lifetime to at most this. Never extends it. */
  readonly expiresWithinMs?: number;
  /**
   * For the approval of a payment: counts its amount for 24 hours. Refused if the sum with the user's other approvals in that
   * time, for the same MCP server and currency, would exceed this value in minor units. A payment that ends unpaid or reopens no
   * longer counts.
   */
  readonly countWithin?: number;
}

/** The part of a transition that a store checks before it sends anything. */
export type ProposedTransition = Pick<
  TransitionElicitation,
  'current' | 'events' | 'next' | 'putCredential' | 'putResult'
>;

/**
 * Checks a transition before the store sends it:
 * - the events are a path in the table
 * - only `widen` changes a request, and only adds to it
 * - an approval comes with the transition that engages a payment and never changes; `charge` sets a charge once
 * - an outcome matches the request and comes with the result that its kind requires
 *
 * @throws IllegalTransitionError
 */
export function assertTransition(move: ProposedTransition): void {
  const { current, events, next } = move;
  assertMove(current.status, events, next.status);
  const fault = faultOf(move);
  if (fault !== undefined) throw new IllegalTransitionError(current.status, `${events.join('+')} ${fault}`);
}

function faultOf(move: ProposedTransition): string | undefined {
  if (!isWidenedByWidening(move)) return 'to these scopes';
  if (!isApprovedByEngaging(move)) return 'with this approval';
  if (!isAnswered(move)) return 'with this outcome';
  return isResultPut(move) ? undefined : 'with this result';
}

function isWidenedByWidening({ current, events, next }: ProposedTransition): boolean {
  const scopes = next.status === 'pending' ? next.scopes : undefined;
  if (!events.includes('widen')) return scopes === undefined;
  return scopes !== undefined && current.request.kind === 'authorization' && covers(scopes, current.request.scopes);
}

/** An active payment is an approved one. It becomes active only by an approval, and keeps it. */
function isApprovedByEngaging({ current, events, next }: ProposedTransition): boolean {
  if (next.status !== 'active') return !events.includes('charge');
  const { attempt, approval, charge } = next;
  if (!events.includes('charge'))
    return charge === undefined && (approval !== undefined) === (current.request.kind === 'payment');
  return (
    events.length === 1 &&
    isCharging(current) &&
    current.charge === undefined &&
    charge !== undefined &&
    attempt === current.attempt &&
    isDeepStrictEqual(approval, current.approval)
  );
}

function isAnswered({ current, next, putCredential }: ProposedTransition): boolean {
  if (next.status !== 'completed') return true;
  const { outcome } = next;
  const { request } = current;
  switch (outcome.kind) {
    case 'payment': {
      if (request.kind !== 'payment' || outcome.digest !== request.digest || outcome.processor !== request.processor)
        return false;
      return isCharging(current)
        ? outcome.processorReference !== undefined && isDeepStrictEqual(outcome.approval, current.approval)
        : request.processor === 'none' && outcome.processorReference === undefined;
    }
    case 'confirmation':
      return request.kind === 'confirmation' && outcome.digest === request.digest;
    case 'credential':
      return (
        request.kind === 'credential' &&
        outcome.name === request.name &&
        outcome.credentialId === putCredential?.credentialId
      );
    default:
      return request.kind === outcome.kind;
  }
}

/** Typed values are stored where their kind requires, in the commit that completes, and nowhere else. */
function isResultPut({ current: { request }, next, putCredential, putResult }: ProposedTransition): boolean {
  const isTyped = next.status === 'completed' && (request.kind === 'form' || request.kind === 'credential');
  const isLasting = request.kind === 'credential' && request.retention === 'lasting';
  return (
    (putResult !== undefined) === (isTyped && !isLasting) && (putCredential !== undefined) === (isTyped && isLasting)
  );
}

/** `early`: only before `expiresAt`. `late`: only from `expiresAt` on. */
export type TransitionTiming = 'early' | 'late' | 'any';

/**
 * When a store may commit a transition. Expiry comes late, every other transition early. The result of a verifier or a processor
 * may come at any time. A charging payment reopens only before `expiresAt`, and expires otherwise.
 */
export function timingOf({ current, events }: Pick<TransitionElicitation, 'current' | 'events'>): TransitionTiming {
  if (events.includes('expire')) return 'late';
  if (isCharging(current)) return events.includes('retry') ? 'early' : 'any';
  return current.status === 'verifying' && events.includes('fail') ? 'any' : 'early';
}

/**
 * Returns the elicitation after a committed transition. Members of the old status (retry reason, attempt, approval, …) are dropped.
 * The store decides the times: `now` of the commit, and the new expiry.
 */
export function applyTransition(
  { current, next }: Pick<TransitionElicitation, 'current' | 'next'>,
  times: { readonly now: number; readonly expiresAt: number },
): Elicitation {
  const { elicitationId, mcpServerId, identityMode, subject, createdAt } = current;
  const { message, returnUrl, locale, traceparent } = current;
  const requestedBy = claimAfter(current, next);
  const base = {
    elicitationId,
    version: current.version + 1,
    mcpServerId,
    identityMode,
    subject,
    request: requestAfter(current, next),
    message,
    requestedBy,
    returnUrl,
    locale,
    traceparent,
    createdAt,
    expiresAt: times.expiresAt,
  };
  switch (next.status) {
    case 'pending':
      return {
        ...base,
        status: next.status,
        retryReason: next.retryReason,
        missing: next.missing,
      };
    case 'active':
    case 'verifying':
      return { ...base, ...next };
    case 'completed':
    case 'failed':
      return { ...base, ...next, endedAt: times.now };
    default:
      return { ...base, status: next.status, endedAt: times.now };
  }
}

/** A widened elicitation belongs to several tools, so the name of the first one is dropped. */
export function claimAfter(
  { requestedBy }: Pick<Elicitation, 'requestedBy'>,
  next: Pick<TransitionElicitation['next'], 'status'> & { readonly scopes?: readonly string[] },
): RequestedBy | undefined {
  if (requestedBy === undefined || next.status !== 'pending' || next.scopes === undefined) return requestedBy;
  const { tool: _, ...rest } = requestedBy;
  return rest.mcpClient === undefined ? undefined : rest;
}

/** Only `widen` changes a request. */
function requestAfter({ request }: Elicitation, next: TransitionElicitation['next']): ElicitationRequest {
  if (next.status !== 'pending' || next.scopes === undefined || request.kind !== 'authorization') return request;
  return { ...request, scopes: next.scopes };
}

/** Returns the payment at a processor that a transition completes its elicitation with. */
export function paymentPutBy({
  current: { request, mcpServerId },
  next,
}: Pick<TransitionElicitation, 'current' | 'next'>): PaymentFacts | undefined {
  if (next.status !== 'completed' || next.outcome.kind !== 'payment' || request.kind !== 'payment') return undefined;
  const { outcome } = next;
  if (outcome.processorReference === undefined) return undefined;
  const { processor, processorReference, mode } = outcome;
  const { currency, minorUnits } = request.terms.amount;
  return {
    mcpServerId,
    processor,
    processorReference,
    amount: { currency, minorUnits },
    completes: true,
    mode,
    payeeAccount: request.payeeAccount,
  };
}
