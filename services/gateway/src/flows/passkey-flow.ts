import {
  type BrowserSession,
  type Clock,
  digestOf,
  type ElicitationOf,
  type Entropy,
  type Passkey,
} from '@postern/elicitation';
import { PasskeyError, type Passkeys, passkeyChallenge } from '@postern/payment';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { Events } from '../events.ts';
import { passkeyHolderOf } from './passkey-holder.ts';
import { unsealTransaction } from './unseal-transaction.ts';

/** How long one ceremony may take; authenticators themselves give up sooner. */
const CEREMONY_MS = 5 * 60_000;
const CONTEXT = { purpose: 'passkey-ceremony' };

const ceremonySchema = z.object({
  mode: z.enum(['register', 'assert']),
  elicitationId: z.string(),
  digest: z.string(),
  /** Of what the form's token is derived from: the ceremony counts in this browser session only. */
  secretDigest: z.string(),
  nonce: z.string(),
  expiresAt: z.number(),
});
type Ceremony = z.infer<typeof ceremonySchema>;

type Payment = ElicitationOf<'payment'>;

export interface CeremonyStart {
  readonly mode: 'register' | 'assert';
  /** For the browser's own WebAuthn functions. */
  readonly optionsJson: string;
  /** Comes back with the form. */
  readonly ceremony: string;
}

export type CeremonyResult =
  /** The WebAuthn credential id of the passkey that counts. */
  { readonly result: 'verified'; readonly passkeyId: string } | { readonly result: 'failed' };

/**
 * Approval with a passkey (WebAuthn level 3). The challenge holds the digest of the terms, so what the authenticator signs is this
 * payment and no other. Looking at the page writes nothing: the ceremony travels sealed in the form and is claimed once.
 */
export function createPasskeyFlow(p: {
  passkeys: Passkeys;
  stores: Pick<RedisStores, 'passkeys' | 'oneTime'>;
  vault: Vault;
  events: Events;
  now: Clock;
  entropy: Entropy;
}) {
  const challengeOf = ({ nonce, digest, elicitationId }: Pick<Ceremony, 'nonce' | 'digest' | 'elicitationId'>) =>
    passkeyChallenge({ nonce: Buffer.from(nonce, 'base64url'), digest, elicitationId });

  /** The ceremony that the form brought, for exactly one use. */
  async function taken(
    elicitation: Payment,
    form: { readonly ceremony: string; readonly secret: string },
    mode: Ceremony['mode'],
  ): Promise<Ceremony | undefined> {
    const ceremony = await unsealTransaction(p, ceremonySchema, form.ceremony, CONTEXT);
    const isForThis =
      ceremony?.mode === mode &&
      ceremony.elicitationId === elicitation.elicitationId &&
      ceremony.digest === elicitation.request.digest &&
      ceremony.secretDigest === digestOf(form.secret);
    if (!isForThis) return undefined;
    // Claimed before the answer is looked at: an answer that was seen on its way is worth nothing a second time.
    return (await p.stores.oneTime.claim(digestOf(`passkey ${ceremony.nonce}`), CEREMONY_MS)) ? ceremony : undefined;
  }

  function parsed(response: string): unknown {
    try {
      return JSON.parse(response);
    } catch {
      return undefined;
    }
  }

  return {
    /** What the page needs: to add the first passkey where the person has none, to use one otherwise. */
    async begin(
      elicitation: Payment,
      person: { readonly browserSession: BrowserSession | undefined; readonly secret: string },
    ): Promise<CeremonyStart> {
      const { elicitationId, request } = elicitation;
      const holder = passkeyHolderOf(elicitation);
      const existing = await p.stores.passkeys.list(holder);
      const ceremony: Ceremony = {
        mode: existing.length === 0 ? 'register' : 'assert',
        elicitationId,
        digest: request.digest,
        secretDigest: digestOf(person.secret),
        nonce: Buffer.from(p.entropy(32)).toString('base64url'),
        expiresAt: p.now() + CEREMONY_MS,
      };
      const challenge = challengeOf(ceremony);
      const options =
        ceremony.mode === 'assert'
          ? await p.passkeys.assertionOptions({ challenge, passkeys: existing })
          : await p.passkeys.registrationOptions({
              subject: holder,
              displayName: person.browserSession?.displayName ?? elicitation.subject.subject,
              challenge,
              existing,
            });
      return {
        mode: ceremony.mode,
        optionsJson: JSON.stringify(options),
        ceremony: await p.vault.seal(JSON.stringify(ceremony), CONTEXT),
      };
    },

    /** Adds the person's first passkey. Further ones are not added here: whoever has one proves it is them with that. */
    async register(
      elicitation: Payment,
      form: { readonly ceremony: string; readonly secret: string; readonly response: string },
    ): Promise<CeremonyResult> {
      const { subject, elicitationId } = elicitation;
      const refused = (code: string, reason?: string): CeremonyResult => {
        p.events.passkeyRefused({ subject, elicitationId, code, ...(reason === undefined ? {} : { reason }) });
        return { result: 'failed' };
      };
      const ceremony = await taken(elicitation, form, 'register');
      if (ceremony === undefined) return refused('ceremony_unknown');
      if ((await p.stores.passkeys.list(passkeyHolderOf(elicitation))).length > 0) return refused('has_one_already');
      try {
        const passkey = await p.passkeys.verifyRegistration({
          response: parsed(form.response),
          challenge: challengeOf(ceremony),
          subject: passkeyHolderOf(elicitation),
        });
        // Of several that are added at once, in this browser and another one, one is the first.
        const added = await p.stores.passkeys.add(passkey, 1);
        if (added !== 'added') return refused(`not_added_${added}`);
        p.events.passkeyAdded({ subject, passkeyId: passkey.passkeyId });
        return { result: 'verified', passkeyId: passkey.passkeyId };
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        return refused(error.code, error.reason);
      }
    },

    /** Verifies the person's assertion over the digest of the terms. */
    async verify(
      elicitation: Payment,
      form: { readonly ceremony: string; readonly secret: string; readonly response: string },
    ): Promise<CeremonyResult> {
      const { subject, elicitationId } = elicitation;
      const refused = (code: string): CeremonyResult => {
        p.events.passkeyRefused({ subject, elicitationId, code });
        return { result: 'failed' };
      };
      const ceremony = await taken(elicitation, form, 'assert');
      if (ceremony === undefined) return refused('ceremony_unknown');
      const holder = passkeyHolderOf(elicitation);
      const passkeys: readonly Passkey[] = await p.stores.passkeys.list(holder);
      try {
        const { passkeyId, signCount, backedUp } = await p.passkeys.verifyAssertion({
          response: parsed(form.response),
          challenge: challengeOf(ceremony),
          passkeys,
        });
        const used = await p.stores.passkeys.use({ subject: holder, passkeyId, signCount, backedUp });
        return used === 'used' ? { result: 'verified', passkeyId } : refused(`counter_${used}`);
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        p.events.passkeyRefused({ subject, elicitationId, ...refusalIn(error) });
        return { result: 'failed' };
      }
    },
  };
}

function refusalIn({ code, reason }: PasskeyError): { code: string; reason?: string } {
  return { code, ...(reason === undefined ? {} : { reason }) };
}

export type PasskeyFlow = ReturnType<typeof createPasskeyFlow>;
