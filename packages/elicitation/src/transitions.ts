import { covers } from './connection.ts';
import type { ElicitationStatus } from './elicitation.ts';
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
 * `charge` keeps an active payment active: the processor has said where it is paid.
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

/**
 * For stores, before anything is sent: the events are a move of the table, and what is asked changes by `widen` alone, and only
 * grows.
 * @throws IllegalTransitionError
 */
export function assertTransition({
  current,
  events,
  next,
}: Pick<TransitionElicitation, 'current' | 'events' | 'next'>): void {
  assertMove(current.status, events, next.status);
  const scopes = next.status === 'pending' ? next.scopes : undefined;
  const isLegal = events.includes('widen')
    ? scopes !== undefined && current.request.kind === 'authorization' && covers(scopes, current.request.scopes)
    : scopes === undefined;
  if (!isLegal) throw new IllegalTransitionError(current.status, `${events.join('+')} to these scopes`);
}
