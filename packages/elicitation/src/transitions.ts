import type { ElicitationStatus } from './elicitation.ts';
import { IllegalTransitionError } from './errors.ts';

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

/** @throws IllegalTransitionError if the events do not lead from `from` to `to`, or if there are none */
export function assertMove(from: ElicitationStatus, events: readonly TransitionEvent[], to: ElicitationStatus): void {
  // Without an event there is no transition: not even a terminal record may be overwritten by itself.
  if (events.length === 0 || destinationOf(from, events) !== to)
    throw new IllegalTransitionError(from, events.join('+'));
}
