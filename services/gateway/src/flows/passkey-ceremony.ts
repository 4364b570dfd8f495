import { type Clock, digestOf, type Entropy } from '@postern/elicitation';
import { passkeyChallenge } from '@postern/payment';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { GatewayConfig } from '../config/config-schema.ts';
import { unsealTransaction } from './unseal-transaction.ts';

/** How long one ceremony may take; authenticators themselves give up sooner. */
const CEREMONY_MS = 5 * 60_000;

const ceremonySchema = z.object({
  mode: z.enum(['register', 'assert']),
  elicitationId: z.string(),
  digest: z.string(),
  /** Of what the form's token is derived from: the ceremony counts in this browser session only. */
  secretDigest: z.string(),
  nonce: z.string(),
  expiresAt: z.number(),
  /** The passkey that has permitted this one to be added. */
  permittedBy: z.string().optional(),
});
type Ceremony = z.infer<typeof ceremonySchema>;

/** What the person decides with it. The challenge holds both members, so an answer counts for nothing else. */
export interface CeremonyPurpose {
  readonly mode: 'register' | 'assert';
  /** Of the payment; for a change of passkeys the name of the change, which is the id of no elicitation. */
  readonly elicitationId: string;
  /** Of the terms of the payment, or of what changes. */
  readonly digest: string;
}

export interface CeremonyStart {
  readonly mode: 'register' | 'assert';
  /** For the browser's own WebAuthn functions. */
  readonly optionsJson: string;
  /** Comes back with the form. */
  readonly ceremony: string;
}

export interface CeremonyForm {
  readonly ceremony: string;
  /** What the form's token is derived from. */
  readonly secret: string;
  /** Of the authenticator, as JSON. */
  readonly response: string;
}

/**
 * Ceremonies that travel sealed in the form of their page, so that looking at it writes nothing, and that are claimed once when the form
 * comes back.
 */
export function createPasskeyCeremonies(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  stores: Pick<RedisStores, 'oneTime'>;
  vault: Vault;
  now: Clock;
  entropy: Entropy;
}) {
  // Deployments may share a vault key: a ceremony counts in the one that began it.
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
        ...{ mode, elicitationId, digest },
        secretDigest: digestOf(secret),
        nonce: Buffer.from(p.entropy(32)).toString('base64url'),
        expiresAt: p.now() + CEREMONY_MS,
        ...(permittedBy === undefined ? {} : { permittedBy }),
      };
      return { challenge: challengeOf(ceremony), ceremony: await p.vault.seal(JSON.stringify(ceremony), context) };
    },

    /** The ceremony that the form brought, for exactly one use; undefined where it is not for this purpose and browser session. */
    async take(
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
      // Claimed before the answer is looked at: an answer that was seen on its way is worth nothing a second time.
      const isFirst = await p.stores.oneTime.claim(digestOf(`passkey ${ceremony.nonce}`), CEREMONY_MS);
      if (!isFirst) return undefined;
      return { challenge: challengeOf(ceremony), response: parsed(form.response), permittedBy: ceremony.permittedBy };
    },
  };
}

function parsed(response: string): unknown {
  try {
    return JSON.parse(response);
  } catch {
    return undefined;
  }
}
