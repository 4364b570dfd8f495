import {
  type Clock,
  digestOf,
  type ElicitationId,
  type Entropy,
  type FirstPasskey,
  type Passkey,
  type PasskeyPayer,
  type Stores,
  type Subject,
} from '@postern/elicitation';
import { PasskeyError, type Passkeys, passkeyChallenge } from '@postern/payment';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { unsealTransaction } from '../../sealing/unseal-transaction.ts';

/** Maximum duration of one ceremony. Authenticators time out sooner. */
const CEREMONY_MS = 5 * 60_000;

const ceremonySchema = z.object({
  mode: z.enum(['register', 'assert']),
  elicitationId: z.string(),
  digest: z.string(),
  /** Binds the ceremony to one browser session. */
  secretDigest: z.string(),
  nonce: z.string(),
  expiresAt: z.number(),
  /** Id of the passkey whose assertion permitted this registration. */
  permittedBy: z.string().optional(),
});
type Ceremony = z.infer<typeof ceremonySchema>;

/**
 * The payment or change that the user approves. The challenge contains `elicitationId` and `digest`, so a response is valid for this
 * purpose only.
 */
export interface CeremonyPurpose {
  /** Id of the payment. For a change of passkeys, the name of the change, which is never the id of an elicitation. */
  readonly elicitationId: string;
  /** Digest of the payment's terms, or of the change. */
  readonly digest: string;
}

export interface CeremonyStart {
  readonly mode: 'register' | 'assert';
  /** Options for the browser's WebAuthn API. */
  readonly optionsJson: string;
  /** Sealed. The form posts it back. */
  readonly ceremony: string;
}

export interface CeremonyForm {
  readonly ceremony: string;
  /** The secret from which the form's CSRF token is derived. */
  readonly secret: string;
  /** Response of the authenticator, as JSON. */
  readonly response: string;
}

/** Whose passkeys a ceremony is about. */
export interface PasskeyUser {
  /** The subject under which the passkeys are stored, see `passkeyOwnerOf`. */
  readonly owner: Subject;
  /** The user, for audit events and announcements. */
  readonly subject: Subject;
  /** The payment, for audit events. */
  readonly elicitationId?: ElicitationId;
}

/** A ceremony whose form was posted for its purpose, for the first time. */
export interface PostedCeremony {
  readonly challenge: Uint8Array;
  /** Of the authenticator, not verified yet. */
  readonly response: unknown;
  readonly permittedBy: string | undefined;
}

export interface PasskeyCeremoniesDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly passkeys: Passkeys;
  readonly stores: Pick<Stores, 'passkeys' | 'oneTime'>;
  readonly vault: Vault;
  readonly auditLog: AuditLog;
  /** See `announcementsOf`. */
  readonly announcedAs: (subject: Subject) => string | undefined;
  readonly now: Clock;
  readonly entropy: Entropy;
}

/**
 * WebAuthn ceremonies. A ceremony is sealed into the form of its page, so showing the page writes nothing to Redis. Posting the form
 * spends the ceremony.
 */
export class PasskeyCeremonies {
  readonly #deps: PasskeyCeremoniesDeps;
  /** Deployments may share a vault key, so sealed ceremonies name their deployment. */
  readonly #context: { readonly purpose: string; readonly deployment: string };

  constructor(deps: PasskeyCeremoniesDeps) {
    this.#deps = deps;
    this.#context = { purpose: 'passkey-ceremony', deployment: deps.config.publicUrl };
  }

  /** Starts an assertion of one of these passkeys. */
  async beginAssertion(purpose: CeremonyPurpose, passkeys: readonly Passkey[], secret: string): Promise<CeremonyStart> {
    const { challenge, ceremony } = await this.#begin('assert', purpose, secret);
    const options = await this.#deps.passkeys.assertionOptions({ challenge, passkeys });
    return { mode: 'assert', optionsJson: JSON.stringify(options), ceremony };
  }

  /**
   * Starts the registration of a passkey beside these.
   * @param by.permittedBy id of the passkey whose assertion permits it
   */
  async beginRegistration(
    purpose: CeremonyPurpose,
    existing: readonly Passkey[],
    by: {
      readonly owner: Subject;
      readonly displayName: string;
      readonly secret: string;
      readonly permittedBy?: string;
    },
  ): Promise<CeremonyStart> {
    const { challenge, ceremony } = await this.#begin('register', purpose, by.secret, by.permittedBy);
    const options = await this.#deps.passkeys.registrationOptions({
      subject: by.owner,
      displayName: by.displayName,
      challenge,
      existing,
    });
    return { mode: 'register', optionsJson: JSON.stringify(options), ceremony };
  }

  /** Opens the posted ceremony, once. Undefined if it was used before or is for another purpose or browser session. */
  async consume(
    mode: Ceremony['mode'],
    purpose: CeremonyPurpose,
    form: CeremonyForm,
  ): Promise<PostedCeremony | undefined> {
    const ceremony = await unsealTransaction(this.#deps, ceremonySchema, form.ceremony, this.#context);
    const isForThis =
      ceremony?.mode === mode &&
      ceremony.elicitationId === purpose.elicitationId &&
      ceremony.digest === purpose.digest &&
      ceremony.secretDigest === digestOf(form.secret);
    if (!isForThis) return undefined;
    // Spend it before verifying the response: an intercepted response must not work a second time.
    const { nonce, expiresAt } = ceremony;
    const isFirst = await this.#deps.stores.oneTime.spend({ kind: 'passkey', digest: digestOf(nonce), expiresAt });
    if (!isFirst) return undefined;
    return {
      challenge: challengeOf(ceremony),
      response: parseJson(form.response),
      permittedBy: ceremony.permittedBy,
    };
  }

  /** Verifies an assertion and counts its use. Undefined, and an audit event, if it is refused. */
  async verifyAssertion(
    purpose: CeremonyPurpose,
    form: CeremonyForm,
    user: PasskeyUser,
  ): Promise<{ readonly passkeyId: string; readonly addedAt: number } | undefined> {
    const { passkeys: webAuthn, stores, now } = this.#deps;
    const ceremony = await this.consume('assert', purpose, form);
    if (ceremony === undefined) return this.refuse(user, 'ceremony_unknown');
    const { challenge, response } = ceremony;
    const passkeys = await stores.passkeys.list(user.owner);
    try {
      const { passkeyId, signCount, backedUp } = await webAuthn.verifyAssertion({ response, challenge, passkeys });
      const addedAt = passkeys.find(passkey => passkey.passkeyId === passkeyId)?.createdAt ?? now();
      const used = await stores.passkeys.use({ subject: user.owner, passkeyId, signCount, backedUp });
      return used === 'used' ? { passkeyId, addedAt } : this.refuse(user, `counter_${used}`);
    } catch (error) {
      if (!(error instanceof PasskeyError)) throw error;
      return this.refuse(user, error.code, error.reason);
    }
  }

  /**
   * Verifies a new passkey and adds it, if its user then has at most `max`. Returns its id. Undefined, and an audit event, if it is
   * refused.
   */
  async addPasskey(
    { challenge, response, permittedBy }: PostedCeremony,
    user: PasskeyUser,
    as: { readonly max: number; readonly first?: FirstPasskey; readonly payer?: PasskeyPayer },
  ): Promise<string | undefined> {
    const { passkeys: webAuthn, stores, auditLog, announcedAs } = this.#deps;
    const { owner, subject } = user;
    try {
      const passkey = await webAuthn.verifyRegistration({ response, challenge, subject: owner });
      const announced = announcedAs(subject);
      const added = await stores.passkeys.add(passkey, as.max, permittedBy, as.first, announced, as.payer);
      if (added !== 'added') return this.refuse(user, `not_added_${added}`);
      auditLog.record('passkey.added', { subject, passkey: passkey.passkeyId });
      return passkey.passkeyId;
    } catch (error) {
      if (!(error instanceof PasskeyError)) throw error;
      return this.refuse(user, error.code, error.reason);
    }
  }

  /** Reports a refused response. */
  refuse({ subject, elicitationId }: PasskeyUser, code: string, reason?: string): undefined {
    this.#deps.auditLog.record('passkey.refused', { subject, elicitationId, code, reason });
  }

  async #begin(
    mode: Ceremony['mode'],
    { elicitationId, digest }: CeremonyPurpose,
    secret: string,
    permittedBy?: string,
  ): Promise<{ challenge: Uint8Array<ArrayBuffer>; ceremony: string }> {
    const { vault, entropy, now } = this.#deps;
    const ceremony: Ceremony = {
      mode,
      elicitationId,
      digest,
      secretDigest: digestOf(secret),
      nonce: Buffer.from(entropy(32)).toString('base64url'),
      expiresAt: now() + CEREMONY_MS,
      permittedBy,
    };
    return { challenge: challengeOf(ceremony), ceremony: await vault.seal(JSON.stringify(ceremony), this.#context) };
  }
}

function challengeOf({ nonce, digest, elicitationId }: Pick<Ceremony, 'nonce' | 'digest' | 'elicitationId'>) {
  return passkeyChallenge({ nonce: Buffer.from(nonce, 'base64url'), digest, elicitationId });
}

function parseJson(response: string): unknown {
  try {
    return JSON.parse(response);
  } catch {
    return undefined;
  }
}
