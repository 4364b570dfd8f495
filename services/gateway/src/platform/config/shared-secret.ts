import { hkdfSync } from 'node:crypto';
import type { GatewayConfig } from './config-schema.ts';
import { isLocalKey } from './vault-config.ts';

/**
 * Returns the secret that all replicas share: `vault.transactionKey`, or the last local key, which stays last when a new key is put first.
 * A valid configuration has one of them.
 */
export function sharedSecretOf({ vault }: Pick<GatewayConfig, 'vault'>): Uint8Array {
  const secret = vault.transactionKey ?? vault.keys.findLast(isLocalKey)?.key;
  if (secret === undefined) throw new TypeError('the configuration requires vault.transactionKey with a key service');
  return secret;
}

/** Derives a key of 32 bytes from the shared secret, the same on all replicas. @param purpose of this key only */
export const sharedKeyFor = (config: Pick<GatewayConfig, 'vault'>, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', sharedSecretOf(config), '', purpose, 32));
