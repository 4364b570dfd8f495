import {
  type BrowserSession,
  type Clock,
  digestOf,
  type Entropy,
  type Passkey,
  type Subject,
} from '@postern/elicitation';
import { PasskeyError, type Passkeys } from '@postern/payment';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Events } from '../events.ts';
import {
  type CeremonyForm,
  type CeremonyPurpose,
  type CeremonyStart,
  createPasskeyCeremonies,
} from './passkey-ceremony.ts';
import { refusalIn } from './passkey-flow.ts';
import { passkeyHolderIn } from './passkey-holder.ts';

/** Maximum number of passkeys of one person. */
export const MAX_PASSKEYS = 10;

/** What a passkey permits beside payments. */
export type PasskeyChange = { readonly to: 'add' } | { readonly to: 'remove'; readonly passkeyId: string };

type Answer = Omit<CeremonyForm, 'secret'>;

/**
 * Adds a further passkey of a person and removes one. Both need an assertion of a passkey that the person has, over exactly this
 * change: a browser session alone changes nothing, however fresh its sign-in is. People who have lost all of theirs depend on the operator.
 */
export function createPasskeyChangeFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  passkeys: Passkeys;
  stores: Pick<RedisStores, 'passkeys' | 'oneTime'>;
  vault: Vault;
  events: Events;
  now: Clock;
  entropy: Entropy;
}) {
  const ceremonies = createPasskeyCeremonies(p);

  function refused(subject: Subject, error: unknown): undefined {
    if (!(error instanceof PasskeyError)) throw error;
    p.events.passkeyRefused({ subject, ...refusalIn(error) });
  }

  /** The id of the passkey that the person has used for this change, if the assertion counts. */
  async function proofOf(
    { subject, id, ...session }: BrowserSession,
    change: PasskeyChange,
    answer: Answer,
  ): Promise<string | undefined> {
    const holder = passkeyHolderIn({ subject, ...session });
    const ceremony = await ceremonies.take(purposeOf(holder, change), { ...answer, secret: id });
    if (ceremony === undefined) return void p.events.passkeyRefused({ subject, code: 'ceremony_unknown' });
    try {
      const { passkeyId, signCount, backedUp } = await p.passkeys.verifyAssertion({
        response: ceremony.response,
        challenge: ceremony.challenge,
        passkeys: await p.stores.passkeys.list(holder),
      });
      const used = await p.stores.passkeys.use({ subject: holder, passkeyId, signCount, backedUp });
      if (used === 'used') return passkeyId;
      return void p.events.passkeyRefused({ subject, code: `counter_${used}` });
    } catch (error) {
      return refused(subject, error);
    }
  }

  return {
    /** What the page of a change needs; undefined where the person has no passkey to permit it with. */
    async begin(browserSession: BrowserSession, change: PasskeyChange): Promise<CeremonyStart | undefined> {
      const holder = passkeyHolderIn(browserSession);
      const passkeys = await p.stores.passkeys.list(holder);
      if (passkeys.length === 0) return undefined;
      const { challenge, ceremony } = await ceremonies.begin(purposeOf(holder, change), browserSession.id);
      const options = await p.passkeys.assertionOptions({ challenge, passkeys });
      return { mode: 'assert', optionsJson: JSON.stringify(options), ceremony };
    },

    /** Removes a passkey. False where nothing has permitted it. */
    async remove(
      browserSession: BrowserSession,
      { passkeyId }: Pick<Passkey, 'passkeyId'>,
      answer: Answer,
    ): Promise<boolean> {
      if ((await proofOf(browserSession, { to: 'remove', passkeyId }, answer)) === undefined) return false;
      const { subject } = browserSession;
      // Another window may have been first: then it is gone, and has been reported.
      if (await p.stores.passkeys.remove(passkeyHolderIn(browserSession), passkeyId))
        p.events.passkeyRemoved({ subject, passkeyId });
      return true;
    },

    /** Permits one further passkey, and begins adding it. Undefined where nothing has permitted it. */
    async permit(browserSession: BrowserSession, answer: Answer): Promise<CeremonyStart | undefined> {
      const permittedBy = await proofOf(browserSession, { to: 'add' }, answer);
      if (permittedBy === undefined) return undefined;
      const holder = passkeyHolderIn(browserSession);
      const { challenge, ceremony } = await ceremonies.begin(additionOf(holder), browserSession.id, permittedBy);
      const options = await p.passkeys.registrationOptions({
        subject: holder,
        displayName: browserSession.displayName,
        challenge,
        existing: await p.stores.passkeys.list(holder),
      });
      return { mode: 'register', optionsJson: JSON.stringify(options), ceremony };
    },

    /** Adds the passkey that was permitted. False where it was not, or where the one that permitted it has gone since. */
    async add(browserSession: BrowserSession, answer: Answer): Promise<boolean> {
      const { subject, id } = browserSession;
      const holder = passkeyHolderIn(browserSession);
      const ceremony = await ceremonies.take(additionOf(holder), { ...answer, secret: id });
      if (ceremony?.permittedBy === undefined) {
        p.events.passkeyRefused({ subject, code: 'ceremony_unknown' });
        return false;
      }
      try {
        const { response, challenge, permittedBy } = ceremony;
        const passkey = await p.passkeys.verifyRegistration({ response, challenge, subject: holder });
        const added = await p.stores.passkeys.add(passkey, MAX_PASSKEYS, permittedBy);
        if (added === 'added') p.events.passkeyAdded({ subject, passkeyId: passkey.passkeyId });
        else p.events.passkeyRefused({ subject, code: `not_added_${added}` });
        return added === 'added';
      } catch (error) {
        refused(subject, error);
        return false;
      }
    },
  };
}

/** Of the assertion that permits a change. Holds whose passkeys change, and which. */
function purposeOf({ issuer, subject }: Subject, change: PasskeyChange): CeremonyPurpose {
  const which = change.to === 'remove' ? [change.passkeyId] : [];
  return {
    mode: 'assert',
    elicitationId: `passkey ${change.to}`,
    digest: digestOf(JSON.stringify([change.to, issuer, subject, ...which])),
  };
}

/** Of the registration that follows. */
function additionOf(holder: Subject): CeremonyPurpose {
  return { ...purposeOf(holder, { to: 'add' }), mode: 'register' };
}

export type PasskeyChangeFlow = ReturnType<typeof createPasskeyChangeFlow>;
