import type { KeyObject } from 'node:crypto';
import { type FlattenedJWE, flattenedDecrypt } from 'jose';
import { notAuthentic } from './vault-error.ts';

export type KeyAlgorithm = 'A256GCMKW' | 'dir';

/**
 * Opens a JWE under the one key algorithm that the caller expects, and A256GCM.
 * @throws VaultError `not_authentic`, whatever was wrong with it
 */
export async function decryptContent(
  jwe: FlattenedJWE,
  key: KeyObject | Uint8Array,
  algorithm: KeyAlgorithm,
): Promise<Uint8Array> {
  try {
    const { plaintext } = await flattenedDecrypt(jwe, key, {
      keyManagementAlgorithms: [algorithm],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    return plaintext;
  } catch {
    throw notAuthentic();
  }
}
