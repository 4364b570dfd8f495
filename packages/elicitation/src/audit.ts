import type { Elicitation, FailureCode, Trouble } from './elicitation.ts';
import type { ElicitationId } from './ids.ts';
import type { Approval } from './requests.ts';
import type { Subject } from './subject.ts';

/** What happened, without what it happened to. */
export type AuditFact =
  | {
      readonly type:
        | 'issued'
        | 'accepted'
        | 'declined'
        | 'cancelled'
        | 'expired'
        | 'held'
        | 'completed'
        | 'charged'
        | 'redeemed';
    }
  /** A person approved a payment or a confirmation; unless a processor takes the payment, that has completed it. */
  | { readonly type: 'approved'; readonly method: Approval['method'] }
  /** A second ask of the same MCP server was added to an open one; `scopes` are those it brought. */
  | { readonly type: 'widened'; readonly scopes: readonly string[] }
  | { readonly type: 'failed'; readonly failure: FailureCode }
  | { readonly type: 'returned'; readonly trouble: Trouble }
  /** Somebody else tried; `visitor` is who it was, if known. */
  | { readonly type: 'wrong_person'; readonly visitor?: Subject };

/** What happened and to what. The recorder adds time and correlation and decides how a subject is written down. */
export type AuditEvent = {
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly subject: Subject;
} & AuditFact;

/** @param of the elicitation as it stands after what happened */
export type Audit = (event: AuditEvent, of: Elicitation) => void;

export function about(elicitation: Pick<Elicitation, 'elicitationId' | 'mcpServerId' | 'subject'>) {
  return {
    elicitationId: elicitation.elicitationId,
    mcpServerId: elicitation.mcpServerId,
    subject: elicitation.subject,
  };
}
