import { createHmac } from 'node:crypto';
import type { Subject } from '@postern/elicitation';
import { sharedKeyFor, type VaultConfig } from '../config/vault-config.ts';

/** Returns the pseudonym of a user in the audit log, always the same for the same subject. */
export type Pseudonyms = (subject: Subject) => string;

/** In base64url characters: 96 bits. */
const LENGTH = 16;

/** A keyed hash: without the key, a pseudonym cannot be matched even against a list of known subjects. @internal */
export function createPseudonyms(key: Uint8Array): Pseudonyms {
  /** Caches by object, because the same subject object is logged repeatedly. */
  const known = new WeakMap<Subject, string>();
  return subject => {
    let pseudonym = known.get(subject);
    if (pseudonym === undefined) {
      const named = JSON.stringify([subject.issuer, subject.subject]);
      pseudonym = createHmac('sha256', key).update(named).digest('base64url').slice(0, LENGTH);
      known.set(subject, pseudonym);
    }
    return pseudonym;
  };
}

/**
 * Uses the configured key, or a key derived from the shared secret: all replicas derive the same key, and adding a vault key in front
 * does not change it.
 */
export function pseudonymsOf(config: {
  readonly audit: { readonly pseudonymKey?: Uint8Array | undefined };
  readonly vault: VaultConfig;
}): Pseudonyms {
  if (config.audit.pseudonymKey !== undefined) return createPseudonyms(config.audit.pseudonymKey);
  return createPseudonyms(sharedKeyFor(config, 'postern audit pseudonyms, 1'));
}

/** Returns the pseudonym for webhooks about a user's passkeys; undefined without operator webhooks. */
export function announcementsOf(
  { operatorWebhooks }: { readonly operatorWebhooks: readonly unknown[] },
  pseudonym: Pseudonyms,
): (subject: Subject) => string | undefined {
  return operatorWebhooks.length === 0 ? () => undefined : pseudonym;
}
