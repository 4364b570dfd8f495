import {
  type Approval,
  type BrowserSession,
  type Clock,
  type CountedPayment,
  DAILY_LIMIT_MS,
  DailyLimitError,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  type FirstPasskey,
  isOfKind,
  type Stores,
  type Visitor,
} from '@postern/elicitation';
import { type Locale, locales } from '@postern/pages';
import { FRESH_SECONDS, isFresh, type SignInPolicy } from '../identity/sign-in-policy.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';

type Payment = ElicitationOf<'payment'>;
type McpServers = ReadonlyMap<string, RegisteredMcpServer>;

export interface Approver {
  readonly visitor: Visitor;
  readonly browserSession: BrowserSession | undefined;
  /** What the page has shown, from `shownTerms`. */
  readonly shown: string;
}

/** A passkey whose assertion was verified for these terms. */
export interface VerifiedPasskey {
  /** WebAuthn credential id. */
  readonly passkeyId: string;
  /** Epoch milliseconds. */
  readonly addedAt: number;
  /** For a first passkey in its first 24 hours: the most that it approves, in minor units. See `PasskeyPolicy.firstPasskeyUpTo`. */
  readonly upTo?: number;
}

export type ApprovalResult =
  /** The elicitation is decided, now or earlier, and not necessarily approved: its status says how. */
  | { readonly result: 'decided'; readonly elicitation: Elicitation }
  /** Nothing was written: the user must first sign in again or use a passkey. */
  | { readonly result: 'sign_in_again' | 'passkey_needed' }
  /** Nothing was written: the approval would exceed the user's daily limit. */
  | { readonly result: 'daily_limit_reached' };

/** What the user must do next to approve a payment. */
export type ApprovalStep =
  | { readonly step: 'button' | 'passkey' | 'sign_in_again' }
  /** Nothing: the payment exceeds the daily limit. `from` as in `DailyStanding`. */
  | { readonly step: 'daily_limit_reached'; readonly from?: number };

export interface ApprovalsDeps {
  readonly service: Pick<ElicitationService, 'assertSamePerson' | 'approve'>;
  readonly signInPolicy: SignInPolicy;
  readonly passkeyPolicy: PasskeyPolicy;
  readonly dailyLimits: DailyLimits;
  readonly auditLog: AuditLog;
  readonly now: Clock;
}

/** Approvals of payments and confirmations: person, age of the sign-in, passkey and daily limit decide together. */
export class Approvals {
  readonly #deps: ApprovalsDeps;

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
  }

  /** For the page. `approve` decides again. */
  async nextStep(payment: Payment, browserSession: BrowserSession | undefined): Promise<ApprovalStep> {
    const { signInPolicy, passkeyPolicy, dailyLimits } = this.#deps;
    const daily = await dailyLimits.standingOf(payment);
    if (daily.result === 'reached') return { step: 'daily_limit_reached', from: daily.from };
    if (signInPolicy.mustSignInAgain(payment, browserSession)) return { step: 'sign_in_again' };
    return { step: daily.result === 'passkey_needed' || passkeyPolicy.needsPasskey(payment) ? 'passkey' : 'button' };
  }

  /**
   * Commits an approval.
   * @param passkey the passkey that was verified for these terms
   * @throws WrongPersonError, RequestChangedError, and what `ElicitationService.approve` throws
   */
  async approve(
    elicitation: Payment | ElicitationOf<'confirmation'>,
    { visitor, browserSession, shown }: Approver,
    passkey?: VerifiedPasskey,
  ): Promise<ApprovalResult> {
    const { service, signInPolicy, passkeyPolicy, dailyLimits, auditLog, now } = this.#deps;
    service.assertSamePerson(elicitation, visitor);
    // A repeated approval gets the stored decision without new proof. It must not reach the service: a payment that the processor has
    // returned to `pending` since the read would be approved.
    if (elicitation.status !== 'pending') return { result: 'decided', elicitation };
    if (signInPolicy.mustSignInAgain(elicitation, browserSession)) return { result: 'sign_in_again' };
    const needsPasskey = passkeyPolicy.needsPasskey(elicitation);
    if (needsPasskey && passkey === undefined) return { result: 'passkey_needed' };
    const { digest, language } = readShownTerms(shown);
    const approval: Approval = {
      method: passkey === undefined ? 'button' : 'passkey',
      identity: elicitation.identityMode,
      at: now(),
      authTime: browserSession?.authTime,
      passkey: passkey?.passkeyId,
      passkeyAddedAt: passkey?.addedAt,
      language,
    };
    const payment = isOfKind(elicitation, 'payment') ? elicitation : undefined;
    const maxTotalWith = (hasPasskey: boolean) =>
      payment && dailyLimits.maxTotal(payment, { hasPasskey, upTo: passkey?.upTo });
    const countWithin = maxTotalWith(passkey !== undefined);
    try {
      const approved = await service.approve(elicitation.elicitationId, visitor, {
        shown: digest,
        approval,
        countWithin,
      });
      return { result: 'decided', elicitation: approved };
    } catch (error) {
      if (!(error instanceof DailyLimitError) || payment === undefined) throw error;
      const total = error.spent + payment.request.terms.amount.minorUnits;
      if (passkey === undefined && total <= (maxTotalWith(true) ?? 0)) return { result: 'passkey_needed' };
      auditLog.record('payment.daily_limit_reached', elicitation);
      return { result: 'daily_limit_reached' };
    }
  }
}

/**
 * Decides which approvals need a passkey, and when a user's first passkey may be added and counts. Reads the configuration on every call,
 * so a stricter policy also applies to links that were issued before.
 */
export class PasskeyPolicy {
  readonly #mcpServers: McpServers;
  readonly #now: Clock;

  constructor(deps: { readonly mcpServers: McpServers; readonly now: Clock }) {
    this.#mcpServers = deps.mcpServers;
    this.#now = deps.now;
  }

  /**
   * Whether the approval needs a passkey over the digest of the terms: for a payment above `passkeyAbove` of its MCP server. The daily
   * threshold may demand one as well, see `DailyLimits`.
   */
  needsPasskey(elicitation: Elicitation): boolean {
    if (elicitation.request.kind !== 'payment') return false;
    const { currency, minorUnits } = elicitation.request.terms.amount;
    const above = this.#configOf(elicitation)?.passkeyAbove[currency];
    return above !== undefined && minorUnits > above;
  }

  /**
   * A first passkey needs a recent sign-in that was required for this elicitation, by the identity provider or by the application that
   * vouches for the user. Otherwise a thief of the session cookie could add a passkey within minutes of any sign-in.
   */
  mustSignInToAddPasskey(elicitation: Elicitation, browserSession: BrowserSession | undefined): boolean {
    return elicitation.identityMode !== 'loopback' && !this.#isProvedFor(elicitation, browserSession);
  }

  /** Whether a first passkey that this browser session adds for this payment counts now, up to a limit, or later. */
  firstPasskeyFor(elicitation: Elicitation, browserSession: BrowserSession | undefined): FirstPasskey {
    if (elicitation.identityMode === 'loopback') return 'counts';
    return this.#isProvedFor(elicitation, browserSession) ? 'limited' : 'later';
  }

  /**
   * The most that a first passkey approves in the 24 hours after it was added, in minor units: of one payment, and of the day's total
   * above `passkeyAbove`.
   */
  firstPasskeyUpTo(payment: Payment): number | undefined {
    return this.#configOf(payment)?.firstPasskeyUpTo[payment.request.terms.amount.currency];
  }

  #configOf({ mcpServerId }: Elicitation) {
    return this.#mcpServers.get(mcpServerId)?.config.payment;
  }

  /** Whether the browser session comes from a recent sign-in that was required for this elicitation. */
  #isProvedFor({ elicitationId }: Elicitation, browserSession: BrowserSession | undefined): boolean {
    return (
      browserSession?.provedFor === elicitationId && isFresh(browserSession.authTime, FRESH_SECONDS * 1000, this.#now())
    );
  }
}

interface Proof {
  readonly hasPasskey: boolean;
  /** As in `VerifiedPasskey`. */
  readonly upTo?: number;
}

/** Whether the daily limits of the user allow a pending payment. */
export type DailyStanding =
  | { readonly result: 'within' | 'passkey_needed' }
  /** `from`: when the payment will be within the limit, in epoch milliseconds. Absent if the payment alone exceeds it. */
  | { readonly result: 'reached'; readonly from?: number };

export interface DailyLimitsDeps {
  readonly mcpServers: McpServers;
  readonly stores: { readonly payments: Pick<Stores['payments'], 'counted'> };
  readonly now: Clock;
}

/**
 * Limits on the total that one user approves within 24 hours, per MCP server and currency. Reads the configuration on every call, like the
 * passkey policy. The commit of the approval enforces the limit; `standingOf` is for the page.
 */
export class DailyLimits {
  readonly #deps: DailyLimitsDeps;

  constructor(deps: DailyLimitsDeps) {
    this.#deps = deps;
  }

  /** Maximum total of this payment and the other approved payments of the day, in minor units. Undefined without limits. */
  maxTotal(payment: Payment, { hasPasskey, upTo = Number.MAX_SAFE_INTEGER }: Proof): number | undefined {
    const limits = this.#limitsOf(payment);
    if (limits === undefined) return undefined;
    const { max = Number.MAX_SAFE_INTEGER, passkeyAbove = max } = limits;
    return Math.min(max, hasPasskey ? passkeyAbove + upTo : passkeyAbove);
  }

  /** Whether a first passkey may approve this payment in the 24 hours after it was added. Many small payments are one large one. */
  async isWithinFirstPasskeyLimit(payment: Payment, upTo: number): Promise<boolean> {
    if (payment.request.terms.amount.minorUnits > upTo) return false;
    const passkeyAbove = this.#limitsOf(payment)?.passkeyAbove;
    return passkeyAbove === undefined || totalOf(payment, await this.#countedBeside(payment)) <= passkeyAbove + upTo;
  }

  async standingOf(payment: Payment): Promise<DailyStanding> {
    const limits = this.#limitsOf(payment);
    if (limits === undefined) return { result: 'within' };
    const counted = await this.#countedBeside(payment);
    const total = totalOf(payment, counted);
    if (limits.max !== undefined && total > limits.max) {
      const from = fitsFrom(counted, total - limits.max);
      return { result: 'reached', from };
    }
    return { result: limits.passkeyAbove !== undefined && total > limits.passkeyAbove ? 'passkey_needed' : 'within' };
  }

  #limitsOf({ mcpServerId, request }: Payment) {
    return this.#deps.mcpServers.get(mcpServerId)?.config.payment?.perPersonAndDay[request.terms.amount.currency];
  }

  /** The other approved payments of the day. */
  async #countedBeside({ subject, mcpServerId, request, elicitationId }: Payment): Promise<readonly CountedPayment[]> {
    const { stores, now } = this.#deps;
    const { currency } = request.terms.amount;
    return (await stores.payments.counted({ subject, mcpServerId, currency })).filter(
      other => other.elicitationId !== elicitationId && other.approvedAt + DAILY_LIMIT_MS > now(),
    );
  }
}

function totalOf({ request }: Payment, counted: readonly CountedPayment[]): number {
  return counted.reduce((sum, other) => sum + other.minorUnits, request.terms.amount.minorUnits);
}

/** Returns when approved payments of at least `excess` minor units no longer count. */
function fitsFrom(counted: readonly CountedPayment[], excess: number): number | undefined {
  let left = excess;
  for (const { approvedAt, minorUnits } of counted.toSorted((a, b) => a.approvedAt - b.approvedAt)) {
    left -= minorUnits;
    if (left <= 0) return approvedAt + DAILY_LIMIT_MS;
  }
  return undefined;
}

/** What the accepting form of an approval posts back: the digest of the terms, and the language in which the page showed them. */
export const shownTerms = (digest: string, language: Locale): string => `${digest}.${language}`;

/**
 * Reads the posted value. The language comes from the form and not from the request that posts it: the user may have chosen another
 * language in another tab since.
 */
function readShownTerms(shown: string): { readonly digest: string; readonly language: Locale | undefined } {
  const [digest = '', language] = shown.split('.', 2);
  return { digest, language: locales.find(locale => locale === language) };
}
