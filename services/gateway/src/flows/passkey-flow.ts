import type { BrowserSession, Clock, ElicitationOf, Entropy, Passkey } from '@postern/elicitation';
import { PasskeyError, type Passkeys } from '@postern/payment';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Events } from '../events.ts';
import type { ApprovalPolicy } from './approval-policy.ts';
import {
  type CeremonyForm,
  type CeremonyPurpose,
  type CeremonyStart,
  createPasskeyCeremonies,
} from './passkey-ceremony.ts';
import { passkeyHolderOf } from './passkey-holder.ts';

type Payment = ElicitationOf<'payment'>;

export type RegistrationResult =
  /** The WebAuthn credential id of the passkey that was added. */
  { readonly result: 'verified'; readonly passkeyId: string } | { readonly result: 'failed' };

/** A passkey that was verified for exactly these terms. */
export interface VerifiedPasskey {
  /** WebAuthn credential id. */
  readonly passkeyId: string;
  /** Epoch milliseconds. */
  readonly addedAt: number;
}

export type VerificationResult =
  | ({ readonly result: 'verified' } & VerifiedPasskey)
  /** Valid, and too young: it counts from then on, in epoch milliseconds. */
  | { readonly result: 'too_new'; readonly countsFrom: number }
  | { readonly result: 'failed' };

/**
 * Approval with a passkey (WebAuthn level 3). The challenge holds the digest of the terms, so what the authenticator signs is this
 * payment and no other. Looking at the page writes nothing: the ceremony travels sealed in the form and is claimed once.
 */
export function createPasskeyFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  passkeys: Passkeys;
  stores: Pick<RedisStores, 'passkeys' | 'oneTime'>;
  vault: Vault;
  events: Events;
  approvalPolicy: ApprovalPolicy;
  now: Clock;
  entropy: Entropy;
}) {
  const ceremonies = createPasskeyCeremonies(p);
  const purposeOf = ({ elicitationId, request }: Payment, mode: CeremonyPurpose['mode']): CeremonyPurpose => ({
    ...{ mode, elicitationId, digest: request.digest },
  });

  async function waitOf(elicitation: Payment): Promise<number | undefined> {
    const from = await p.stores.passkeys.countFrom(passkeyHolderOf(elicitation));
    if (from === undefined || from.at <= p.now()) return undefined;
    return from.isLimited && p.approvalPolicy.isWithinFirstPasskeyLimit(elicitation) ? undefined : from.at;
  }

  return {
    /** The time before which no passkey of this person approves this payment, if it is still to come; in epoch milliseconds. */
    countsFrom: waitOf,

    /** What the page needs: to add the first passkey where the person has none, to use one otherwise. */
    async begin(
      elicitation: Payment,
      person: { readonly browserSession: BrowserSession | undefined; readonly secret: string },
    ): Promise<CeremonyStart> {
      const holder = passkeyHolderOf(elicitation);
      const existing = await p.stores.passkeys.list(holder);
      const mode = existing.length === 0 ? 'register' : 'assert';
      const { challenge, ceremony } = await ceremonies.begin(purposeOf(elicitation, mode), person.secret);
      const options =
        mode === 'assert'
          ? await p.passkeys.assertionOptions({ challenge, passkeys: existing })
          : await p.passkeys.registrationOptions({
              subject: holder,
              displayName: person.browserSession?.displayName ?? elicitation.subject.subject,
              challenge,
              existing,
            });
      return { mode, optionsJson: JSON.stringify(options), ceremony };
    },

    /** Adds the person's first passkey. Further ones are not added here: whoever has one proves it is them with that. */
    async register(
      elicitation: Payment,
      browserSession: BrowserSession | undefined,
      form: CeremonyForm,
    ): Promise<RegistrationResult> {
      const { subject, elicitationId } = elicitation;
      const refused = (code: string, reason?: string): RegistrationResult => {
        p.events.passkeyRefused({ subject, elicitationId, code, ...(reason === undefined ? {} : { reason }) });
        return { result: 'failed' };
      };
      const ceremony = await ceremonies.take(purposeOf(elicitation, 'register'), form);
      if (ceremony === undefined) return refused('ceremony_unknown');
      if ((await p.stores.passkeys.list(passkeyHolderOf(elicitation))).length > 0) return refused('has_one_already');
      try {
        const passkey = await p.passkeys.verifyRegistration({
          response: ceremony.response,
          challenge: ceremony.challenge,
          subject: passkeyHolderOf(elicitation),
        });
        // Of several that are added at once, in this browser and another one, one is the first.
        const added = await p.stores.passkeys.add(
          passkey,
          1,
          undefined,
          p.approvalPolicy.firstPasskeyFor(elicitation, browserSession),
        );
        if (added !== 'added') return refused(`not_added_${added}`);
        p.events.passkeyAdded({ subject, passkeyId: passkey.passkeyId });
        return { result: 'verified', passkeyId: passkey.passkeyId };
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        return refused(error.code, error.reason);
      }
    },

    /** Verifies the person's assertion over the digest of the terms. */
    async verify(elicitation: Payment, form: CeremonyForm): Promise<VerificationResult> {
      const { subject, elicitationId } = elicitation;
      const refused = (code: string): VerificationResult => {
        p.events.passkeyRefused({ subject, elicitationId, code });
        return { result: 'failed' };
      };
      const ceremony = await ceremonies.take(purposeOf(elicitation, 'assert'), form);
      if (ceremony === undefined) return refused('ceremony_unknown');
      const holder = passkeyHolderOf(elicitation);
      const passkeys: readonly Passkey[] = await p.stores.passkeys.list(holder);
      try {
        const { passkeyId, signCount, backedUp } = await p.passkeys.verifyAssertion({
          response: ceremony.response,
          challenge: ceremony.challenge,
          passkeys,
        });
        const addedAt = passkeys.find(passkey => passkey.passkeyId === passkeyId)?.createdAt ?? p.now();
        const used = await p.stores.passkeys.use({ subject: holder, passkeyId, signCount, backedUp });
        if (used !== 'used') return refused(`counter_${used}`);
        // Read after the use: a passkey that was there has brought its time with it.
        const countsFrom = await waitOf(elicitation);
        if (countsFrom === undefined) return { result: 'verified', passkeyId, addedAt };
        p.events.passkeyRefused({ subject, elicitationId, code: 'too_new' });
        return { result: 'too_new', countsFrom };
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        p.events.passkeyRefused({ subject, elicitationId, ...refusalIn(error) });
        return { result: 'failed' };
      }
    },
  };
}

export function refusalIn({ code, reason }: PasskeyError): { code: string; reason?: string } {
  return { code, ...(reason === undefined ? {} : { reason }) };
}

export type PasskeyFlow = ReturnType<typeof createPasskeyFlow>;
