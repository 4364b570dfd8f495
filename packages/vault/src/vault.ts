import { FlattenedEncrypt, type FlattenedJWE, flattenedDecrypt } from 'jose';
import type { KeyRing } from './key-ring.ts';
import { VaultError } from './vault-error.ts';

/**
 * What a sealed value belongs to. It is authenticated with the ciphertext (AAD), so a value moved to another record, user,
 * MCP server, kind or purpose does not open. `purpose` keeps values of different uses apart.
 */
export interface SealContext {
  readonly purpose: string;
  readonly [name: string]: string;
}

export interface Vault {
  seal(plaintext: string, context: SealContext): Promise<string>;
  /** @throws VaultError `unknown_key`, `not_authentic` */
  open(sealed: string, context: SealContext): Promise<string>;
}

const LAYOUT = '1';
/** `protected.encrypted_key.iv.ciphertext.tag`: the parts of a JWE (RFC 7516) whose AAD is known to the reader. */
const SEALED = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*){4}$/;

function additionalData(context: SealContext): Uint8Array {
  return new TextEncoder().encode(
    JSON.stringify([LAYOUT, Object.entries(context).sort(([a], [b]) => (a < b ? -1 : 1))]),
  );
}

/**
 * Envelope encryption: every value gets a fresh content key and a random IV (so no nonce is ever reused under one key),
 * and the content key is wrapped with the ring's current key. A256GCM inside, A256GCMKW outside (RFC 7518 sections 4.7, 5.3).
 */
export function createVault(ring: KeyRing): Vault {
  return {
    async seal(plaintext, context) {
      const jwe = await new FlattenedEncrypt(new TextEncoder().encode(plaintext))
        .setProtectedHeader({ alg: 'A256GCMKW', enc: 'A256GCM', kid: ring.current.kid })
        .setAdditionalAuthenticatedData(additionalData(context))
        .encrypt(ring.current.key);
      return [jwe.protected, jwe.encrypted_key, jwe.iv, jwe.ciphertext, jwe.tag].join('.');
    },

    async open(sealed, context) {
      if (!SEALED.test(sealed)) throw new VaultError('not_authentic', 'The sealed value is malformed.');
      const [header, encryptedKey, iv, ciphertext, tag] = sealed.split('.') as [string, string, string, string, string];
      const jwe: FlattenedJWE = {
        protected: header,
        encrypted_key: encryptedKey,
        iv,
        ciphertext,
        tag,
        aad: Buffer.from(additionalData(context)).toString('base64url'),
      };
      try {
        const { plaintext } = await flattenedDecrypt(jwe, header => ring.find(header?.kid ?? '').key, {
          keyManagementAlgorithms: ['A256GCMKW'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        return new TextDecoder().decode(plaintext);
      } catch (error) {
        if (error instanceof VaultError) throw error;
        throw new VaultError('not_authentic', 'The sealed value does not belong here or was altered.');
      }
    },
  };
}
