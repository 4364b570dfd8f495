import {
  type BrowserSession,
  type Clock,
  type ElicitationOf,
  NotFoundError,
  type PasskeyPayer,
  type Stores,
} from '@postern/elicitation';
import type {
  CeremonyForm,
  CeremonyPurpose,
  CeremonyStart,
  PasskeyCeremonies,
  PasskeyUser,
} from '../identity/passkeys/passkey-ceremony.ts';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { DailyLimits, PasskeyPolicy, VerifiedPasskey } from './approvals.ts';

type Payment = ElicitationOf<'payment'>;

export type RegistrationResult =
  /** The WebAuthn credential id of the passkey that was added. */
  { readonly result: 'verified'; readonly passkeyId: string } | { readonly result: 'failed' };

export type VerificationResult =
  | ({ readonly result: 'verified' } & VerifiedPasskey)
  /** Valid, but the passkey counts only from `countsFrom` (epoch milliseconds). */
  | { readonly result: 'too_new'; readonly countsFrom: number }
  | { readonly result: 'failed' };

export interface PasskeyFlowDeps {
  readonly ceremonies: PasskeyCeremonies;
  readonly passkeyPolicy: PasskeyPolicy;
  readonly dailyLimits: DailyLimits;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly stores: Pick<Stores, 'passkeys'>;
  readonly now: Clock;
}

/**
 * Approval with a passkey (WebAuthn level 3). The challenge contains the digest of the terms, so the authenticator signs exactly this
 * payment.
 */
export class PasskeyFlow {
  readonly #deps: PasskeyFlowDeps;

  constructor(deps: PasskeyFlowDeps) {
    this.#deps = deps;
  }

  /** Starts the registration of a first passkey, or an assertion if the user has one. */
  async begin(
    payment: Payment,
    { browserSession, secret }: { readonly browserSession: BrowserSession | undefined; readonly secret: string },
  ): Promise<CeremonyStart> {
    const { ceremonies, stores } = this.#deps;
    const owner = passkeyOwnerOf(payment);
    const existing = await stores.passkeys.list(owner);
    return existing.length === 0
      ? ceremonies.beginRegistration(purposeOf(payment), existing, {
          owner,
          displayName: browserSession?.displayName ?? payment.subject.subject,
          secret,
        })
      : ceremonies.beginAssertion(purposeOf(payment), existing, secret);
  }

  /** Adds the user's first passkey. Further ones need an assertion of an existing one, see `PasskeyChangeFlow`. */
  async register(
    payment: Payment,
    browserSession: BrowserSession | undefined,
    form: CeremonyForm,
  ): Promise<RegistrationResult> {
    const { ceremonies, passkeyPolicy, stores } = this.#deps;
    const user = userOf(payment);
    const refused = (code: string): RegistrationResult => {
      ceremonies.refuse(user, code);
      return { result: 'failed' };
    };
    const ceremony = await ceremonies.consume('register', purposeOf(payment), form);
    if (ceremony === undefined) return refused('ceremony_unknown');
    if ((await stores.passkeys.list(user.owner)).length > 0) return refused('has_one_already');
    const passkeyId = await ceremonies.addPasskey(ceremony, user, {
      // Makes concurrent registrations safe: only one of them is the first.
      max: 1,
      first: passkeyPolicy.firstPasskeyFor(payment, browserSession),
      payer: this.#payerOf(payment),
    });
    return passkeyId === undefined ? { result: 'failed' } : { result: 'verified', passkeyId };
  }

  /** Verifies the user's assertion over the digest of the terms. */
  async verify(payment: Payment, form: CeremonyForm): Promise<VerificationResult> {
    const { ceremonies } = this.#deps;
    const user = userOf(payment);
    const asserted = await ceremonies.verifyAssertion(purposeOf(payment), form, user);
    if (asserted === undefined) return { result: 'failed' };
    // Read after the use was counted, because adding the passkey stored this time.
    const { countsFrom, upTo } = await this.#countingOf(payment);
    if (countsFrom === undefined) return { result: 'verified', ...asserted, upTo };
    ceremonies.refuse(user, 'too_new');
    return { result: 'too_new', countsFrom };
  }

  /** Epoch milliseconds from which the user's passkeys count for this payment. Undefined if they count now. */
  async countsFrom(payment: Payment): Promise<number | undefined> {
    return (await this.#countingOf(payment)).countsFrom;
  }

  /** Returns when the user's passkeys will count for this payment, or the limit up to which they count now. Empty without a restriction. */
  async #countingOf(payment: Payment): Promise<{ readonly countsFrom?: number; readonly upTo?: number }> {
    const { stores, passkeyPolicy, dailyLimits, now } = this.#deps;
    const from = await stores.passkeys.countFrom(passkeyOwnerOf(payment));
    if (from === undefined || from.at <= now()) return {};
    const upTo = from.isLimited ? passkeyPolicy.firstPasskeyUpTo(payment) : undefined;
    const counts = upTo !== undefined && (await dailyLimits.isWithinFirstPasskeyLimit(payment, upTo));
    return counts ? { upTo } : { countsFrom: from.at };
  }

  /** Undefined if an identity provider says who the user is. @throws NotFoundError */
  #payerOf({ identityMode, mcpServerId }: Payment): PasskeyPayer | undefined {
    if (identityMode === 'login') return undefined;
    const mcpServer = this.#deps.mcpServers.get(mcpServerId);
    if (mcpServer === undefined) throw new NotFoundError();
    return { mcpServerId, quota: mcpServer.limits.quota };
  }
}

const purposeOf = ({ elicitationId, request }: Payment): CeremonyPurpose => ({ elicitationId, digest: request.digest });

const userOf = (payment: Payment): PasskeyUser => ({
  owner: passkeyOwnerOf(payment),
  subject: payment.subject,
  elicitationId: payment.elicitationId,
});
