import { plainText } from '@postern/api';
import { type BrowserSession, digestOf, type Passkey, type Stores, type Subject } from '@postern/elicitation';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import type {
  CeremonyForm,
  CeremonyPurpose,
  CeremonyStart,
  PasskeyCeremonies,
  PasskeyUser,
} from './passkey-ceremony.ts';
import { MAX_PASSKEYS, passkeyOwnerIn } from './user-passkeys.ts';

/** A change that needs an assertion of a passkey. */
export type PasskeyChange = { readonly to: 'add' } | { readonly to: 'remove'; readonly passkeyId: string };

/** As the API accepts texts: one line without control, bidirectional or invisible characters. */
const passkeyNameSchema = plainText(60);

/** Undefined if the typed text is no name for a passkey. */
export const parsePasskeyName = (typed: string): string | undefined => passkeyNameSchema.safeParse(typed).data;

type Answer = Omit<CeremonyForm, 'secret'>;

export interface PasskeyChangeFlowDeps {
  readonly ceremonies: PasskeyCeremonies;
  readonly stores: Pick<Stores, 'passkeys'>;
  readonly auditLog: AuditLog;
  /** See `announcementsOf`. */
  readonly announcedAs: (subject: Subject) => string | undefined;
}

/**
 * Adds a further passkey for a user, and removes one. Both need an assertion of one of the user's passkeys over exactly this change. A
 * browser session alone changes nothing, even right after a sign-in. Users who have lost all passkeys must ask the operator for a reset.
 */
export class PasskeyChangeFlow {
  readonly #deps: PasskeyChangeFlowDeps;

  constructor(deps: PasskeyChangeFlowDeps) {
    this.#deps = deps;
  }

  /** Starts the assertion that permits a change. Undefined if the user has no passkey. */
  async begin(browserSession: BrowserSession, change: PasskeyChange): Promise<CeremonyStart | undefined> {
    const { ceremonies, stores } = this.#deps;
    const owner = passkeyOwnerIn(browserSession);
    const passkeys = await stores.passkeys.list(owner);
    return passkeys.length === 0
      ? undefined
      : ceremonies.beginAssertion(purposeOf(owner, change), passkeys, browserSession.id);
  }

  /** Removes a passkey. False if the assertion is rejected. */
  async remove(
    browserSession: BrowserSession,
    { passkeyId }: Pick<Passkey, 'passkeyId'>,
    answer: Answer,
  ): Promise<boolean> {
    const { stores, auditLog, announcedAs } = this.#deps;
    if ((await this.#verifyProof(browserSession, { to: 'remove', passkeyId }, answer)) === undefined) return false;
    const { subject } = browserSession;
    // Another request may have removed and reported it already.
    if (await stores.passkeys.remove(passkeyOwnerIn(browserSession), passkeyId, announcedAs(subject)))
      auditLog.record('passkey.removed', { subject, passkey: passkeyId });
    return true;
  }

  /** Names a passkey. Changes nothing that approvals depend on, so it needs no assertion. */
  async rename(
    browserSession: BrowserSession,
    { passkeyId }: Pick<Passkey, 'passkeyId'>,
    label: string,
  ): Promise<void> {
    const { stores, auditLog } = this.#deps;
    const { subject } = browserSession;
    // Another request may have removed it.
    if (await stores.passkeys.rename(passkeyOwnerIn(browserSession), passkeyId, label))
      auditLog.record('passkey.renamed', { subject, passkey: passkeyId });
  }

  /** Permits one further passkey, and starts its registration. Undefined if the assertion is rejected. */
  async permit(browserSession: BrowserSession, answer: Answer): Promise<CeremonyStart | undefined> {
    const { ceremonies, stores } = this.#deps;
    const permittedBy = await this.#verifyProof(browserSession, { to: 'add' }, answer);
    if (permittedBy === undefined) return undefined;
    const owner = passkeyOwnerIn(browserSession);
    return ceremonies.beginRegistration(purposeOf(owner, { to: 'add' }), await stores.passkeys.list(owner), {
      owner,
      displayName: browserSession.displayName,
      secret: browserSession.id,
      permittedBy,
    });
  }

  /** Adds the permitted passkey. False if the response is rejected, or the passkey that permitted it has been removed since. */
  async add(browserSession: BrowserSession, answer: Answer): Promise<boolean> {
    const { ceremonies } = this.#deps;
    const user = userOf(browserSession);
    const form = { ...answer, secret: browserSession.id };
    const ceremony = await ceremonies.consume('register', purposeOf(user.owner, { to: 'add' }), form);
    if (ceremony?.permittedBy === undefined) {
      ceremonies.refuse(user, 'ceremony_unknown');
      return false;
    }
    return (await ceremonies.addPasskey(ceremony, user, { max: MAX_PASSKEYS })) !== undefined;
  }

  /** Verifies an assertion over this change, and returns the id of its passkey. Undefined if the assertion is rejected. */
  async #verifyProof(
    browserSession: BrowserSession,
    change: PasskeyChange,
    answer: Answer,
  ): Promise<string | undefined> {
    const user = userOf(browserSession);
    const form = { ...answer, secret: browserSession.id };
    return (await this.#deps.ceremonies.verifyAssertion(purposeOf(user.owner, change), form, user))?.passkeyId;
  }
}

const userOf = (browserSession: BrowserSession): PasskeyUser => ({
  owner: passkeyOwnerIn(browserSession),
  subject: browserSession.subject,
});

/** Purpose of the ceremonies of a change. Names the owner, and the passkey to remove. */
function purposeOf({ issuer, subject }: Subject, change: PasskeyChange): CeremonyPurpose {
  const which = change.to === 'remove' ? [change.passkeyId] : [];
  return {
    elicitationId: `passkey ${change.to}`,
    digest: digestOf(JSON.stringify([change.to, issuer, subject, ...which])),
  };
}
