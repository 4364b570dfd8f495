import { createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyEncryptionService } from './key-encryption-service.ts';
import { unknownKey, VaultError } from './vault-error.ts';

/** A 256-bit key-encryption key. It exists only in the process and its configuration, never in the store. */
export interface LocalKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

/** A key-encryption key that a key service holds under the same name. */
export interface ServiceKey {
  readonly kid: string;
  readonly service: KeyEncryptionService;
}

export type VaultKey = LocalKey | ServiceKey;

/** A key in the form that the vault uses. A local key cannot be printed. */
export type RingKey = { readonly kid: string } & (
  | { readonly local: KeyObject }
  | { readonly service: KeyEncryptionService }
);

export interface KeyRing {
  /** The key used for sealing. */
  readonly current: RingKey;
  /** The names of all keys, the current key first. */
  readonly kids: readonly string[];
  /** @throws VaultError `unknown_key`, naming the kid. */
  find(kid: string): RingKey;
}

const KEY_BYTES = 32;
/** Restricts names of keys, which appear in headers, logs and tables. */
const KID = /^[A-Za-z0-9._-]{1,64}$/;

/** Creates a key ring: the first key seals, all keys open. @throws VaultError `invalid_key_ring` */
export function createKeyRing(keys: readonly VaultKey[]): KeyRing {
  const byKid = new Map<string, RingKey>();
  for (const key of keys) {
    if (!KID.test(key.kid))
      throw new VaultError(
        'invalid_key_ring',
        'A key name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-".',
      );
    if (byKid.has(key.kid)) throw new VaultError('invalid_key_ring', `Two keys are named "${key.kid}".`);
    byKid.set(key.kid, ringKeyOf(key));
  }
  const [current] = byKid.values();
  if (current === undefined) throw new VaultError('invalid_key_ring', 'The key ring is empty.');
  return {
    current,
    kids: [...byKid.keys()],
    find(kid) {
      const key = byKid.get(kid);
      if (key === undefined) throw unknownKey(kid);
      return key;
    },
  };
}

function ringKeyOf(key: VaultKey): RingKey {
  if ('service' in key) return { kid: key.kid, service: key.service };
  if (key.key.byteLength !== KEY_BYTES)
    throw new VaultError('invalid_key_ring', `Key "${key.kid}" is not 256 bits long.`);
  return { kid: key.kid, local: createSecretKey(key.key) };
}
