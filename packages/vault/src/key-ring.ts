import { createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyEncryptionService } from './key-encryption-service.ts';
import { unknownKey, VaultError } from './vault-error.ts';

/** A 256-bit key-encryption key. It lives in the process and in its configuration, never in the store. */
export interface LocalKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

/** A key-encryption key that a key service keeps under the same name. */
export interface ServiceKey {
  readonly kid: string;
  readonly service: KeyEncryptionService;
}

export type VaultKey = LocalKey | ServiceKey;

/** A key as the vault uses it: a local one is held in a form that shows nothing when printed. */
export type RingKey = { readonly kid: string } & (
  | { readonly local: KeyObject }
  | { readonly service: KeyEncryptionService }
);

export interface KeyRing {
  /** The key that seals. */
  readonly current: RingKey;
  /** The names of all keys, that of the current one first. */
  readonly kids: readonly string[];
  /** @throws VaultError `unknown_key`, naming the kid. */
  find(kid: string): RingKey;
}

const KEY_BYTES = 32;
/** A kid stands in headers, logs and tables: it must not be able to look like anything else. */
const KID = /^[A-Za-z0-9._-]{1,64}$/;

/** The first key seals, all of them open. @throws VaultError `invalid_key_ring` */
export function createKeyRing(keys: readonly VaultKey[]): KeyRing {
  const byKid = new Map<string, RingKey>();
  for (const key of keys) {
    if (!KID.test(key.kid))
      throw new VaultError('invalid_key_ring', 'A key has a name that is not 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-".');
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
