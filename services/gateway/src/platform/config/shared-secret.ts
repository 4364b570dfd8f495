import { StartError } from '../start-error.ts';
import type { GatewayConfig } from './config-schema.ts';

/**
 * Returns the secret that all replicas share: the last vault key, which stays last when a new key is put first. With a key service,
 * from whose keys nothing can be derived, it is the key of pseudonyms.
 * @throws StartError if the vault keys are in a key service and `audit.pseudonymKey` is missing
 */
export function sharedSecretOf(
  { audit, vault }: Pick<GatewayConfig, 'audit' | 'vault'>,
  hasKeyService: boolean,
): Uint8Array {
  const secret = hasKeyService ? audit.pseudonymKey : vault.keys.at(-1)?.key;
  if (secret === undefined)
    throw new StartError('audit.pseudonymKey is required with a key service: no key can be derived from its keys.');
  return secret;
}
