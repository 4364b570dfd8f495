import { type Audit, about, type Elicitation } from './elicitation.ts';
import { WrongPersonError } from './errors.ts';
import { isSameSubject, type Subject } from './ids.ts';

/**
 * The person at the browser, as far as proven: signed in as a subject, or the only user of a machine whose public URL is a
 * loopback address.
 */
export type Visitor =
  | {
      readonly kind: 'signed_in';
      readonly subject: Subject;
      /** Set if this MCP server's application, and not an identity provider, identified the user. */
      readonly vouchedBy?: string;
    }
  | { readonly kind: 'loopback' };

/** The same-person rule. Every page and every decision checks it first. */
export function isSamePerson(elicitation: Elicitation, visitor: Visitor): boolean {
  if (elicitation.identityMode === 'loopback') return visitor.kind === 'loopback';
  if (visitor.kind !== 'signed_in') return false;
  // An application may vouch only where the operator allows it, and only for its own requests.
  const voucher = voucherOf(elicitation);
  return visitor.vouchedBy === voucher && isSameSubject(visitor.subject, elicitation.subject);
}

/** Checks the same-person rule. Another person leaves only an audit event. */
export function createSamePersonCheck(audit: Audit) {
  /** For callers that handle another person themselves. */
  function checkSamePerson(elicitation: Elicitation, visitor: Visitor): boolean {
    if (isSamePerson(elicitation, visitor)) return true;
    audit(
      {
        type: 'wrong_person',
        ...about(elicitation),
        ...(visitor.kind === 'signed_in' ? { visitor: visitor.subject } : {}),
      },
      elicitation,
    );
    return false;
  }

  /** @throws WrongPersonError */
  function assertSamePerson(elicitation: Elicitation, visitor: Visitor): void {
    if (!checkSamePerson(elicitation, visitor)) throw new WrongPersonError();
  }

  return { checkSamePerson, assertSamePerson };
}

export type SamePersonCheck = ReturnType<typeof createSamePersonCheck>['assertSamePerson'];

/** The MCP server whose application says which subject the user of this elicitation is. Undefined if a sign-in at the gateway does. */
export function voucherOf({ identityMode, mcpServerId }: Pick<Elicitation, 'identityMode' | 'mcpServerId'>) {
  return identityMode === 'external' ? mcpServerId : undefined;
}
