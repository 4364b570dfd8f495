import type { GatewayConfig } from './config/config-schema.ts';
import { StartError } from './start-error.ts';

/**
 * What all replicas share and nobody else has: the last vault key, which a new one does not replace, or, where those stay in a key
 * service, the key of pseudonyms.
 * @throws StartError where the vault's keys stay in a key service, from which nothing can be derived, and that key is missing
 */
export function sharedSecretOf(
  { audit, vault }: Pick<GatewayConfig, 'audit' | 'vault'>,
  hasKeyService: boolean,
): Uint8Array {
  const secret = hasKeyService ? audit.pseudonymKey : vault.keys.at(-1)?.key;
  if (secret === undefined)
    throw new StartError('audit.pseudonymKey is needed: nothing can be derived from keys in a key service.');
  return secret;
}
