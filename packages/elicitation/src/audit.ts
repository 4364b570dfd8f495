import type { Elicitation, FailureCode, RetryReason } from './elicitation.ts';
import type { ElicitationId, Subject } from './ids.ts';
import type { Approval } from './requests.ts';

/** An event without its subject and elicitation. */
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
  /** The user approved a payment or a confirmation. This completes it, unless a processor takes the payment. */
  | { readonly type: 'approved'; readonly method: Approval['method']; readonly language?: string }
  /** A second request of the same MCP server was added to an open elicitation. `scopes` are the added ones. */
  | { readonly type: 'widened'; readonly scopes: readonly string[] }
  | { readonly type: 'failed'; readonly failure: FailureCode }
  | { readonly type: 'returned'; readonly retryReason: RetryReason }
  /** Another person tried; `visitor` is that person, if known. */
  | { readonly type: 'wrong_person'; readonly visitor?: Subject };

/** An audit event. The recorder adds time and correlation, and decides how to write the subject. */
export type AuditEvent = {
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly subject: Subject;
} & AuditFact;

/** @param of the elicitation after the event */
export type Audit = (event: AuditEvent, of: Elicitation) => void;

export function about(elicitation: Pick<Elicitation, 'elicitationId' | 'mcpServerId' | 'subject'>) {
  return {
    elicitationId: elicitation.elicitationId,
    mcpServerId: elicitation.mcpServerId,
    subject: elicitation.subject,
  };
}
