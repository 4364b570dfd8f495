import { type Clock, digestOf, type Entropy, type Stores } from '@postern/elicitation';
import { type PasskeyError, passkeyChallenge } from '@postern/payment';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
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
 * The payment or change that the user approves. The challenge contains `elicitationId` and `digest`, so a response is valid for
 * this purpose only.
 */
export interface CeremonyPurpose {
  readonly mode: 'register' | 'assert';
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

/**
 * WebAuthn ceremonies. A ceremony is sealed into the form of its page, so showing the page writes nothing to Redis. Posting the form
 * spends the ceremony.
 */
export function createPasskeyCeremonies(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  stores: Pick<Stores, 'oneTime'>;
  vault: Vault;
  now: Clock;
  entropy: Entropy;
}) {
  // Deployments may share a vault key, so sealed ceremonies name their deployment.
  const context = { purpose: 'passkey-ceremony', deployment: p.config.publicUrl };
  const challengeOf = ({ nonce, digest, elicitationId }: Pick<Ceremony, 'nonce' | 'digest' | 'elicitationId'>) =>
    passkeyChallenge({ nonce: Buffer.from(nonce, 'base64url'), digest, elicitationId });

  return {
    async begin(
      { mode, elicitationId, digest }: CeremonyPurpose,
      secret: string,
      permittedBy?: string,
    ): Promise<{ challenge: Uint8Array<ArrayBuffer>; ceremony: string }> {
      const ceremony: Ceremony = {
        mode,
        elicitationId,
        digest,
        secretDigest: digestOf(secret),
        nonce: Buffer.from(p.entropy(32)).toString('base64url'),
        expiresAt: p.now() + CEREMONY_MS,
        permittedBy,
      };
      return { challenge: challengeOf(ceremony), ceremony: await p.vault.seal(JSON.stringify(ceremony), context) };
    },

    /** Opens the posted ceremony, once. Undefined if it was used before or is for another purpose or browser session. */
    async consume(
      purpose: CeremonyPurpose,
      form: CeremonyForm,
    ): Promise<{ challenge: Uint8Array; response: unknown; permittedBy: string | undefined } | undefined> {
      const ceremony = await unsealTransaction(p, ceremonySchema, form.ceremony, context);
      const isForThis =
        ceremony?.mode === purpose.mode &&
        ceremony.elicitationId === purpose.elicitationId &&
        ceremony.digest === purpose.digest &&
        ceremony.secretDigest === digestOf(form.secret);
      if (!isForThis) return undefined;
      // Spend it before verifying the response: an intercepted response must not work a second time.
      const { nonce, expiresAt } = ceremony;
      const isFirst = await p.stores.oneTime.spend({ kind: 'passkey', digest: digestOf(nonce), expiresAt });
      if (!isFirst) return undefined;
      return {
        challenge: challengeOf(ceremony),
        response: parseJson(form.response),
        permittedBy: ceremony.permittedBy,
      };
    },
  };
}

function parseJson(response: string): unknown {
  try {
    return JSON.parse(response);
  } catch {
    return undefined;
  }
}

/** Returns the fields of the audit event for a rejected passkey response. */
export function refusalOf({ code, reason }: PasskeyError): { code: string; reason?: string } {
  return { code, reason };
}
