import { plainText } from '@postern/api';
import {
  type BrowserSession,
  type Clock,
  digestOf,
  type Entropy,
  type Passkey,
  type Stores,
  type Subject,
} from '@postern/elicitation';
import { PasskeyError, type Passkeys } from '@postern/payment';
import type { Vault } from '@postern/vault';
import type { AuditLog } from '../../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import {
  type CeremonyForm,
  type CeremonyPurpose,
  type CeremonyStart,
  createPasskeyCeremonies,
  refusalOf,
} from './passkey-ceremony.ts';
import { MAX_PASSKEYS, passkeyOwnerIn } from './user-passkeys.ts';

/** A change that needs an assertion of a passkey. */
export type PasskeyChange = { readonly to: 'add' } | { readonly to: 'remove'; readonly passkeyId: string };

/** As the API accepts texts: one line without control, bidirectional or invisible characters. */
const passkeyNameSchema = plainText(60);

/** Undefined if the typed text is no name for a passkey. */
export const parsePasskeyName = (typed: string): string | undefined => passkeyNameSchema.safeParse(typed).data;

type Answer = Omit<CeremonyForm, 'secret'>;

/**
 * Adds a further passkey for a user, and removes one. Both need an assertion of one of the user's passkeys over exactly this change. A
 * browser session alone changes nothing, even right after a sign-in. Users who have lost all passkeys must ask the operator for a reset.
 */
export function createPasskeyChangeFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  passkeys: Passkeys;
  stores: Pick<Stores, 'passkeys' | 'oneTime'>;
  vault: Vault;
  auditLog: AuditLog;
  announcedAs: (subject: Subject) => string | undefined;
  now: Clock;
  entropy: Entropy;
}) {
  const ceremonies = createPasskeyCeremonies(p);

  function recordRefusal(subject: Subject, error: unknown): undefined {
    if (!(error instanceof PasskeyError)) throw error;
    p.auditLog.record('passkey.refused', { subject, ...refusalOf(error) });
  }

  /** Verifies an assertion over this change, and returns the id of its passkey. Undefined if the assertion is rejected. */
  async function verifyProof(
    { subject, id, ...session }: BrowserSession,
    change: PasskeyChange,
    answer: Answer,
  ): Promise<string | undefined> {
    const owner = passkeyOwnerIn({ subject, ...session });
    const ceremony = await ceremonies.consume(purposeOf(owner, change), { ...answer, secret: id });
    if (ceremony === undefined) return void p.auditLog.record('passkey.refused', { subject, code: 'ceremony_unknown' });
    try {
      const { passkeyId, signCount, backedUp } = await p.passkeys.verifyAssertion({
        response: ceremony.response,
        challenge: ceremony.challenge,
        passkeys: await p.stores.passkeys.list(owner),
      });
      const used = await p.stores.passkeys.use({ subject: owner, passkeyId, signCount, backedUp });
      if (used === 'used') return passkeyId;
      return void p.auditLog.record('passkey.refused', { subject, code: `counter_${used}` });
    } catch (error) {
      return recordRefusal(subject, error);
    }
  }

  return {
    /** Starts the assertion that permits a change. Undefined if the user has no passkey. */
    async begin(browserSession: BrowserSession, change: PasskeyChange): Promise<CeremonyStart | undefined> {
      const owner = passkeyOwnerIn(browserSession);
      const passkeys = await p.stores.passkeys.list(owner);
      if (passkeys.length === 0) return undefined;
      const { challenge, ceremony } = await ceremonies.begin(purposeOf(owner, change), browserSession.id);
      const options = await p.passkeys.assertionOptions({ challenge, passkeys });
      return { mode: 'assert', optionsJson: JSON.stringify(options), ceremony };
    },

    /** Removes a passkey. False if the assertion is rejected. */
    async remove(
      browserSession: BrowserSession,
      { passkeyId }: Pick<Passkey, 'passkeyId'>,
      answer: Answer,
    ): Promise<boolean> {
      if ((await verifyProof(browserSession, { to: 'remove', passkeyId }, answer)) === undefined) return false;
      const { subject } = browserSession;
      // Another request may have removed and reported it already.
      if (await p.stores.passkeys.remove(passkeyOwnerIn(browserSession), passkeyId, p.announcedAs(subject)))
        p.auditLog.record('passkey.removed', { subject, passkey: passkeyId });
      return true;
    },

    /** Names a passkey. Changes nothing that approvals depend on, so it needs no assertion. */
    async rename(
      browserSession: BrowserSession,
      { passkeyId }: Pick<Passkey, 'passkeyId'>,
      label: string,
    ): Promise<void> {
      const { subject } = browserSession;
      // Another request may have removed it.
      if (await p.stores.passkeys.rename(passkeyOwnerIn(browserSession), passkeyId, label))
        p.auditLog.record('passkey.renamed', { subject, passkey: passkeyId });
    },

    /** Permits one further passkey, and starts its registration. Undefined if the assertion is rejected. */
    async permit(browserSession: BrowserSession, answer: Answer): Promise<CeremonyStart | undefined> {
      const permittedBy = await verifyProof(browserSession, { to: 'add' }, answer);
      if (permittedBy === undefined) return undefined;
      const owner = passkeyOwnerIn(browserSession);
      const { challenge, ceremony } = await ceremonies.begin(additionOf(owner), browserSession.id, permittedBy);
      const options = await p.passkeys.registrationOptions({
        subject: owner,
        displayName: browserSession.displayName,
        challenge,
        existing: await p.stores.passkeys.list(owner),
      });
      return { mode: 'register', optionsJson: JSON.stringify(options), ceremony };
    },

    /** Adds the permitted passkey. False if the response is rejected, or the passkey that permitted it has been removed since. */
    async add(browserSession: BrowserSession, answer: Answer): Promise<boolean> {
      const { subject, id } = browserSession;
      const owner = passkeyOwnerIn(browserSession);
      const ceremony = await ceremonies.consume(additionOf(owner), { ...answer, secret: id });
      if (ceremony?.permittedBy === undefined) {
        p.auditLog.record('passkey.refused', { subject, code: 'ceremony_unknown' });
        return false;
      }
      try {
        const { response, challenge, permittedBy } = ceremony;
        const passkey = await p.passkeys.verifyRegistration({ response, challenge, subject: owner });
        const as = p.announcedAs(subject);
        const added = await p.stores.passkeys.add(passkey, MAX_PASSKEYS, permittedBy, undefined, as);
        if (added === 'added') p.auditLog.record('passkey.added', { subject, passkey: passkey.passkeyId });
        else p.auditLog.record('passkey.refused', { subject, code: `not_added_${added}` });
        return added === 'added';
      } catch (error) {
        recordRefusal(subject, error);
        return false;
      }
    },
  };
}

/** Purpose of the assertion that permits a change. Names the owner, and the passkey to remove. */
function purposeOf({ issuer, subject }: Subject, change: PasskeyChange): CeremonyPurpose {
  const which = change.to === 'remove' ? [change.passkeyId] : [];
  return {
    mode: 'assert',
    elicitationId: `passkey ${change.to}`,
    digest: digestOf(JSON.stringify([change.to, issuer, subject, ...which])),
  };
}

/** Purpose of the registration after a permitted addition. */
function additionOf(owner: Subject): CeremonyPurpose {
  return { ...purposeOf(owner, { to: 'add' }), mode: 'register' };
}

export type PasskeyChangeFlow = ReturnType<typeof createPasskeyChangeFlow>;
