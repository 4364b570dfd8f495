import { createHmac, hkdfSync } from 'node:crypto';
import type { Subject } from '@postern/elicitation';
import type { GatewayConfig } from './config/config-schema.ts';
import { sharedSecretOf } from './shared-secret.ts';

/** Names a person in the audit trail: always the same for the same subject. */
export type Pseudonyms = (subject: Subject) => string;

const KEY_BYTES = 32;
/** Of base64url characters, so 96 bits. */
const LENGTH = 16;

/** Without the key nobody can tell whose pseudonym it is, not even by trying the names of all people they know. */
export function createPseudonyms(key: Uint8Array): Pseudonyms {
  /** Records that are read again and again bring the same subject each time. */
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
 * With the configured key, or with one that is derived from the last vault key, so that replicas agree without being told and a vault
 * key that is put first changes nothing.
 * @throws StartError where the vault's keys stay in a key service, from which nothing can be derived
 */
export function pseudonymsOf(config: Pick<GatewayConfig, 'audit' | 'vault'>, hasKeyService = false): Pseudonyms {
  if (config.audit.pseudonymKey !== undefined) return createPseudonyms(config.audit.pseudonymKey);
  const secret = sharedSecretOf(config, hasKeyService);
  return createPseudonyms(new Uint8Array(hkdfSync('sha256', secret, '', 'postern audit pseudonyms, 1', KEY_BYTES)));
}
