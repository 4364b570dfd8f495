import type { Approval, BrowserSession, Clock, Elicitation, ElicitationService, Visitor } from '@postern/elicitation';
import type { Approvable, ApprovalPolicy } from './approval-policy.ts';
import type { VerifiedPasskey } from './passkey-flow.ts';

export interface Approver {
  readonly visitor: Visitor;
  readonly browserSession: BrowserSession | undefined;
  /** Digest of what the page has shown. */
  readonly shown: string;
}

export type ApprovalResult =
  /** Or decided before; the elicitation tells how. */
  | { readonly result: 'approved'; readonly elicitation: Elicitation }
  /** Nothing was written: something is still to be proved. */
  | { readonly result: 'sign_in_again' | 'passkey_needed' };

/** A person presses the button that approves. What the policy wants proved beyond that is proved first. */
export function createApprovalFlow(p: { service: ElicitationService; approvalPolicy: ApprovalPolicy; now: Clock }) {
  return async function approve(
    elicitation: Approvable,
    { visitor, browserSession, shown }: Approver,
    /** The passkey that was verified for these very terms. */
    passkey?: VerifiedPasskey,
  ): Promise<ApprovalResult> {
    p.service.assertSamePerson(elicitation, visitor);
    // A repeat of what is decided needs no new proof, and is answered with the stored decision. It is not handed on: a payment that has
    // come back from its processor since it was read would be approved by it.
    if (elicitation.status !== 'pending') return { result: 'approved', elicitation };
    if (p.approvalPolicy.mustSignInAgain(elicitation, browserSession)) return { result: 'sign_in_again' };
    const needsPasskey = p.approvalPolicy.requirementsOf(elicitation).passkey;
    if (needsPasskey && passkey === undefined) return { result: 'passkey_needed' };
    const approval: Approval = {
      method: passkey === undefined ? 'button' : 'passkey',
      identity: elicitation.identityMode,
      at: p.now(),
      ...(browserSession?.authTime === undefined ? {} : { authTime: browserSession.authTime }),
      ...(passkey === undefined ? {} : { passkey: passkey.passkeyId, passkeyAddedAt: passkey.addedAt }),
    };
    const approved = await p.service.approve(elicitation.elicitationId, visitor, { shown, approval });
    return { result: 'approved', elicitation: approved };
  };
}

export type ApprovalFlow = ReturnType<typeof createApprovalFlow>;
