import type { Elicitation } from './elicitation.ts';
import { isSameSubject, type Subject } from './subject.ts';

/**
 * Whoever sits at the browser, as far as it has been proven: signed in as a subject, or, on a one-person machine whose
 * public URL is a loopback address, the only person there is.
 */
export type Visitor =
  | {
      readonly kind: 'signed_in';
      readonly subject: Subject;
      /** Set when not an identity provider but this MCP server's application said who it is. */
      readonly vouchedBy?: string;
    }
  | { readonly kind: 'loopback' };

/** The same-person rule. Everything a page shows or does passes through here first. */
export function isSamePerson(elicitation: Elicitation, visitor: Visitor): boolean {
  if (elicitation.identityMode === 'loopback') return visitor.kind === 'loopback';
  if (visitor.kind !== 'signed_in') return false;
  // An application's word counts only where the operator chose it, and only for what that application itself asked.
  const voucher = elicitation.identityMode === 'external' ? elicitation.mcpServerId : undefined;
  return visitor.vouchedBy === voucher && isSameSubject(visitor.subject, elicitation.subject);
}
