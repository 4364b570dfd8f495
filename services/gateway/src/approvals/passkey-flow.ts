import {
  type BrowserSession,
  type Clock,
  type ElicitationOf,
  type Entropy,
  NotFoundError,
  type Passkey,
  type PasskeyPayer,
  type Stores,
  type Subject,
} from '@postern/elicitation';
import { PasskeyError, type Passkeys } from '@postern/payment';
import type { Vault } from '@postern/vault';
import {
  type CeremonyForm,
  type CeremonyPurpose,
  type CeremonyStart,
  createPasskeyCeremonies,
  refusalOf,
} from '../identity/passkeys/passkey-ceremony.ts';
import { passkeyOwnerOf } from '../identity/passkeys/user-passkeys.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { DailyLimits } from './daily-limits.ts';
import type { PasskeyPolicy } from './passkey-policy.ts';

type Payment = ElicitationOf<'payment'>;

export type RegistrationResult =
  /** The WebAuthn credential id of the passkey that was added. */
  { readonly result: 'verified'; readonly passkeyId: string } | { readonly result: 'failed' };

/** A passkey whose assertion was verified for these terms. */
export interface VerifiedPasskey {
  /** WebAuthn credential id. */
  readonly passkeyId: string;
  /** Epoch milliseconds. */
  readonly addedAt: number;
  /** For a first passkey in its first 24 hours: its limit, in minor units. */
  readonly upTo?: number;
}

export type VerificationResult =
  | ({ readonly result: 'verified' } & VerifiedPasskey)
  /** Valid, but the passkey counts only from `countsFrom` (epoch milliseconds). */
  | { readonly result: 'too_new'; readonly countsFrom: number }
  | { readonly result: 'failed' };

/**
 * Approval with a passkey (WebAuthn level 3). The challenge contains the digest of the terms, so the authenticator signs exactly this
 * payment.
 */
export function createPasskeyFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  passkeys: Passkeys;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: Pick<Stores, 'passkeys' | 'oneTime'>;
  vault: Vault;
  auditLog: AuditLog;
  announcedAs: (subject: Subject) => string | undefined;
  passkeyPolicy: PasskeyPolicy;
  dailyLimits: Pick<DailyLimits, 'isWithinFirstPasskeyLimit'>;
  now: Clock;
  entropy: Entropy;
}) {
  const ceremonies = createPasskeyCeremonies(p);
  const purposeOf = ({ elicitationId, request }: Payment, mode: CeremonyPurpose['mode']): CeremonyPurpose => ({
    mode,
    elicitationId,
    digest: request.digest,
  });

  /**
   * Returns when the user's passkeys will count for this payment, or the limit up to which they count now. Empty without a
   * restriction.
   */
  async function countingOf(elicitation: Payment): Promise<{ countsFrom?: number; upTo?: number }> {
    const from = await p.stores.passkeys.countFrom(passkeyOwnerOf(elicitation));
    if (from === undefined || from.at <= p.now()) return {};
    const upTo = from.isLimited ? p.passkeyPolicy.firstPasskeyUpTo(elicitation) : undefined;
    const counts = upTo !== undefined && (await p.dailyLimits.isWithinFirstPasskeyLimit(elicitation, upTo));
    return counts ? { upTo } : { countsFrom: from.at };
  }

  /** Undefined if an identity provider says who the user is. @throws NotFoundError */
  function payerOf({ identityMode, mcpServerId }: Payment): PasskeyPayer | undefined {
    if (identityMode === 'login') return undefined;
    const mcpServer = p.mcpServers.get(mcpServerId);
    if (mcpServer === undefined) throw new NotFoundError();
    return { mcpServerId, quota: mcpServer.limits.quota };
  }

  return {
    /** Epoch milliseconds from which the user's passkeys count for this payment. Undefined if they count now. */
    countsFrom: async (elicitation: Payment) => (await countingOf(elicitation)).countsFrom,

    /** Starts the registration of a first passkey, or an assertion if the user has one. */
    async begin(
      elicitation: Payment,
      user: { readonly browserSession: BrowserSession | undefined; readonly secret: string },
    ): Promise<CeremonyStart> {
      const owner = passkeyOwnerOf(elicitation);
      const existing = await p.stores.passkeys.list(owner);
      const mode = existing.length === 0 ? 'register' : 'assert';
      const { challenge, ceremony } = await ceremonies.begin(purposeOf(elicitation, mode), user.secret);
      const options =
        mode === 'assert'
          ? await p.passkeys.assertionOptions({ challenge, passkeys: existing })
          : await p.passkeys.registrationOptions({
              subject: owner,
              displayName: user.browserSession?.displayName ?? elicitation.subject.subject,
              challenge,
              existing,
            });
      return { mode, optionsJson: JSON.stringify(options), ceremony };
    },

    /** Adds the user's first passkey. Further ones need an assertion of an existing one, see `PasskeyChangeFlow`. */
    async register(
      elicitation: Payment,
      browserSession: BrowserSession | undefined,
      form: CeremonyForm,
    ): Promise<RegistrationResult> {
      const { subject, elicitationId } = elicitation;
      const refused = (code: string, reason?: string): RegistrationResult => {
        p.auditLog.record('passkey.refused', { subject, elicitationId, code, reason });
        return { result: 'failed' };
      };
      const ceremony = await ceremonies.consume(purposeOf(elicitation, 'register'), form);
      if (ceremony === undefined) return refused('ceremony_unknown');
      if ((await p.stores.passkeys.list(passkeyOwnerOf(elicitation))).length > 0) return refused('has_one_already');
      try {
        const passkey = await p.passkeys.verifyRegistration({
          response: ceremony.response,
          challenge: ceremony.challenge,
          subject: passkeyOwnerOf(elicitation),
        });
        // The maximum of 1 makes concurrent registrations safe: only one of them is the first.
        const added = await p.stores.passkeys.add(
          passkey,
          1,
          undefined,
          p.passkeyPolicy.firstPasskeyFor(elicitation, browserSession),
          p.announcedAs(subject),
          payerOf(elicitation),
        );
        if (added !== 'added') return refused(`not_added_${added}`);
        p.auditLog.record('passkey.added', { subject, passkey: passkey.passkeyId });
        return { result: 'verified', passkeyId: passkey.passkeyId };
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        return refused(error.code, error.reason);
      }
    },

    /** Verifies the user's assertion over the digest of the terms. */
    async verify(elicitation: Payment, form: CeremonyForm): Promise<VerificationResult> {
      const { subject, elicitationId } = elicitation;
      const refused = (code: string): VerificationResult => {
        p.auditLog.record('passkey.refused', { subject, elicitationId, code });
        return { result: 'failed' };
      };
      const ceremony = await ceremonies.consume(purposeOf(elicitation, 'assert'), form);
      if (ceremony === undefined) return refused('ceremony_unknown');
      const owner = passkeyOwnerOf(elicitation);
      const passkeys: readonly Passkey[] = await p.stores.passkeys.list(owner);
      try {
        const { passkeyId, signCount, backedUp } = await p.passkeys.verifyAssertion({
          response: ceremony.response,
          challenge: ceremony.challenge,
          passkeys,
        });
        const addedAt = passkeys.find(passkey => passkey.passkeyId === passkeyId)?.createdAt ?? p.now();
        const used = await p.stores.passkeys.use({ subject: owner, passkeyId, signCount, backedUp });
        if (used !== 'used') return refused(`counter_${used}`);
        // Read after `use` has found the passkey, because adding the passkey stored this time.
        const { countsFrom, upTo } = await countingOf(elicitation);
        if (countsFrom === undefined) return { result: 'verified', passkeyId, addedAt, upTo };
        p.auditLog.record('passkey.refused', { subject, elicitationId, code: 'too_new' });
        return { result: 'too_new', countsFrom };
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        p.auditLog.record('passkey.refused', { subject, elicitationId, ...refusalOf(error) });
        return { result: 'failed' };
      }
    },
  };
}

export type PasskeyFlow = ReturnType<typeof createPasskeyFlow>;
