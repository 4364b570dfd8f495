import { VaultError } from './vault-error.ts';

/** A 256-bit key-encryption key. It lives in the process and in its configuration, never in the store. */
export interface VaultKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

export interface KeyRing {
  /** The key that seals. */
  readonly current: VaultKey;
  /** @throws VaultError `unknown_key`, naming the kid. */
  find(kid: string): VaultKey;
}

const KEY_BYTES = 32;

/** The first key seals, all of them open. @throws VaultError `invalid_key_ring` */
export function createKeyRing(keys: readonly VaultKey[]): KeyRing {
  const [current] = keys;
  if (current === undefined) throw new VaultError('invalid_key_ring', 'The key ring is empty.');
  const byKid = new Map<string, VaultKey>();
  for (const key of keys) {
    if (key.key.byteLength !== KEY_BYTES)
      throw new VaultError('invalid_key_ring', `Key "${key.kid}" is not 256 bits long.`);
    if (byKid.has(key.kid)) throw new VaultError('invalid_key_ring', `Two keys are named "${key.kid}".`);
    byKid.set(key.kid, key);
  }
  return {
    current,
    find(kid) {
      const key = byKid.get(kid);
      if (key === undefined) throw new VaultError('unknown_key', `No key named "${kid}" is configured.`);
      return key;
    },
  };
}
