import type { Elicitation, ElicitationStatus } from './elicitation.ts';
import type { ElicitationId } from './ids.ts';
import type { Kind } from './requests.ts';

/** What is announced about an elicitation: thin, without secrets and without anything the user typed. */
export interface ElicitationEvent {
  /** Stable: a repeat of the same announcement carries the same id. */
  readonly eventId: string;
  readonly type: `elicitation.${ElicitationStatus}`;
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly kind: Kind;
}

/** The announcement of a committed version: one per version, so the id is derived from it. */
export function eventOf(
  elicitation: Pick<Elicitation, 'elicitationId' | 'version' | 'status' | 'mcpServerId' | 'request'>,
): ElicitationEvent {
  return {
    eventId: `ev_${elicitation.elicitationId.slice(3)}.${elicitation.version}`,
    type: `elicitation.${elicitation.status}`,
    elicitationId: elicitation.elicitationId,
    mcpServerId: elicitation.mcpServerId,
    kind: elicitation.request.kind,
  };
}
