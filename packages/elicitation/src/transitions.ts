import { isDeepStrictEqual } from 'node:util';
import { covers } from './connection.ts';
import { type ElicitationStatus, isCharging } from './elicitation.ts';
import { IllegalTransitionError } from './errors.ts';
import type { TransitionElicitation } from './ports.ts';

/**
 * The only place that knows the moves.
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
 * `charge` keeps an active payment active: the processor has said where it is paid. From its approval on, a payment that a
 * processor takes is ended by nothing but what the processor says.
 * `widen` keeps a pending elicitation pending: a second ask of the same MCP server for the same account adds its scopes.
 *
 * A move that passes through two arrows in one commit (a person who declines at once is engaged and declines) names
 * both events; nothing between them is ever visible. Terminal statuses have no way out.
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

export const transitionEvents: readonly TransitionEvent[] = [...new Set(transitions.map(row => row.event))];

/** Where the events lead from a status, or undefined when one of them is not a move of the table. */
export function destinationOf(
  from: ElicitationStatus,
  events: readonly TransitionEvent[],
): ElicitationStatus | undefined {
  let status: ElicitationStatus | undefined = from;
  for (const event of events) {
    status = transitions.find(row => row.from === status && row.event === event)?.to;
    if (status === undefined) return undefined;
  }
  return status;
}

/** @throws IllegalTransitionError when the events do not lead from `from` to `to`, or when there are none. */
export function assertMove(from: ElicitationStatus, events: readonly TransitionEvent[], to: ElicitationStatus): void {
  // Without an event nothing moves: not even a terminal record may be written over by itself.
  if (events.length === 0 || destinationOf(from, events) !== to)
    throw new IllegalTransitionError(from, events.join('+'));
}

/** What a store checks of a move before it sends anything. */
export type ProposedTransition = Pick<
  TransitionElicitation,
  'current' | 'events' | 'next' | 'putCredential' | 'putResult'
>;

/**
 * For stores, before anything is sent: the events are a move of the table; what is asked changes by `widen` alone, and only
 * grows; an approval comes with the move that engages a payment and stays as it was given, a charge comes once, by `charge`; and
 * an outcome is of what was asked and brings the result that its kind promises.
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

/** An active payment is an approved one: there is no other reason to ask a processor, and no way to lose the approval again. */
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

/** What was typed goes where its kind says, in the commit that completes, and nowhere else. */
function isResultPut({ current: { request }, next, putCredential, putResult }: ProposedTransition): boolean {
  const isTyped = next.status === 'completed' && (request.kind === 'form' || request.kind === 'credential');
  const isLasting = request.kind === 'credential' && request.retention === 'lasting';
  return (
    (putResult !== undefined) === (isTyped && !isLasting) && (putCredential !== undefined) === (isTyped && isLasting)
  );
}

/** `early`: before `expiresAt` only. `late`: from then on only. */
export type TransitionTiming = 'early' | 'late' | 'any';

/**
 * When a store commits a move. An end that is due to time comes late, every other move in time; but what the verifier or a
 * processor says is heard whenever it comes. A charging payment returns to its person in time only, and expires otherwise.
 */
export function timingOf({ current, events }: Pick<TransitionElicitation, 'current' | 'events'>): TransitionTiming {
  if (events.includes('expire')) return 'late';
  if (isCharging(current)) return events.includes('retry') ? 'early' : 'any';
  return current.status === 'verifying' && events.includes('fail') ? 'any' : 'early';
}
