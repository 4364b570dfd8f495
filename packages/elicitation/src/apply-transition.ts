import { isDeepStrictEqual } from 'node:util';
import { covers } from './connection.ts';
import { type Elicitation, type ElicitationRequest, isCharging, type RequestedBy } from './elicitation.ts';
import type { TransitionElicitation } from './elicitation-store.ts';
import { IllegalTransitionError } from './errors.ts';
import { assertMove } from './transitions.ts';

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
