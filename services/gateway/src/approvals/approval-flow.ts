import {
  type Approval,
  type BrowserSession,
  type Clock,
  DailyLimitError,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  isOfKind,
  type Visitor,
} from '@postern/elicitation';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import type { DailyLimits } from './daily-limits.ts';
import type { VerifiedPasskey } from './passkey-flow.ts';
import type { PasskeyPolicy } from './passkey-policy.ts';
import { readShownTerms } from './shown-terms.ts';

type Approvable = ElicitationOf<'payment'> | ElicitationOf<'confirmation'>;

export interface Approver {
  readonly visitor: Visitor;
  readonly browserSession: BrowserSession | undefined;
  /** What the page has shown, from `shownTerms`. */
  readonly shown: string;
}

export type ApprovalResult =
  /** The elicitation is decided, now or earlier. It contains the decision. */
  | { readonly result: 'approved'; readonly elicitation: Elicitation }
  /** Nothing was written: the user must first sign in again or use a passkey. */
  | { readonly result: 'sign_in_again' | 'passkey_needed' }
  /** Nothing was written: the approval would exceed the user's daily limit. */
  | { readonly result: 'daily_limit_reached' };

/** Commits an approval, after checking person, age of the sign-in, passkey and daily limit. */
export function createApprovalFlow(p: {
  service: ElicitationService;
  signInPolicy: SignInPolicy;
  passkeyPolicy: PasskeyPolicy;
  dailyLimits: DailyLimits;
  auditLog: AuditLog;
  now: Clock;
}) {
  return async function approve(
    elicitation: Approvable,
    { visitor, browserSession, shown }: Approver,
    /** The passkey that was verified for these terms. */
    passkey?: VerifiedPasskey,
  ): Promise<ApprovalResult> {
    p.service.assertSamePerson(elicitation, visitor);
    // A repeated approval gets the stored decision without new proof. It must not reach the service: a payment that the processor has
    // returned to `pending` since the read would be approved.
    if (elicitation.status !== 'pending') return { result: 'approved', elicitation };
    if (p.signInPolicy.mustSignInAgain(elicitation, browserSession)) return { result: 'sign_in_again' };
    const needsPasskey = p.passkeyPolicy.needsPasskey(elicitation);
    if (needsPasskey && passkey === undefined) return { result: 'passkey_needed' };
    const { digest, language } = readShownTerms(shown);
    const approval: Approval = {
      method: passkey === undefined ? 'button' : 'passkey',
      identity: elicitation.identityMode,
      at: p.now(),
      authTime: browserSession?.authTime,
      passkey: passkey?.passkeyId,
      passkeyAddedAt: passkey?.addedAt,
      language,
    };
    const payment = isOfKind(elicitation, 'payment') ? elicitation : undefined;
    const within = (hasPasskey: boolean) =>
      payment && p.dailyLimits.countWithin(payment, { hasPasskey, upTo: passkey?.upTo });
    const countWithin = within(passkey !== undefined);
    try {
      const approved = await p.service.approve(elicitation.elicitationId, visitor, {
        shown: digest,
        approval,
        countWithin,
      });
      return { result: 'approved', elicitation: approved };
    } catch (error) {
      if (!(error instanceof DailyLimitError) || payment === undefined) throw error;
      const total = error.spent + payment.request.terms.amount.minorUnits;
      if (passkey === undefined && total <= (within(true) ?? 0)) return { result: 'passkey_needed' };
      p.auditLog.record('payment.daily_limit_reached', elicitation);
      return { result: 'daily_limit_reached' };
    }
  };
}

export type ApprovalFlow = ReturnType<typeof createApprovalFlow>;
