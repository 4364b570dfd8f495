import { notAuthentic } from './vault-error.ts';

/**
 * The stored form of a sealed value: the five parts of a JWE (RFC 7516), `protected.encrypted_key.iv.ciphertext.tag`. The
 * reader supplies the AAD, which is not stored. The `alg` of the protected header says how the content key is protected:
 *
 * - `A256GCMKW`: wrapped with a local key (RFC 7518 section 4.7). The second part is that of the JWE.
 * - `dir`: wrapped by a key service. The second part is the output of the service. The other parts are a JWE with direct
 *   encryption (RFC 7518 section 4.5), whose second part would be empty.
 */
export interface SealedValue {
  /** Not authenticated before the value is opened. */
  readonly header: { readonly alg: string; readonly kid: string };
  readonly protectedHeader: string;
  readonly encryptedKey: string;
  readonly iv: string;
  readonly ciphertext: string;
  readonly tag: string;
}

const SHAPE = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*){4}$/;

/** @throws VaultError `not_authentic` */
export function parseSealed(sealed: string): SealedValue {
  if (!SHAPE.test(sealed)) throw notAuthentic();
  const parts = sealed.split('.') as [string, string, string, string, string];
  // Unused bits in the last character of a part would give one value several encodings.
  if (!parts.every(part => Buffer.from(part, 'base64url').toString('base64url') === part)) throw notAuthentic();
  const [protectedHeader, encryptedKey, iv, ciphertext, tag] = parts;
  return { header: headerOf(protectedHeader), protectedHeader, encryptedKey, iv, ciphertext, tag };
}

/**
 * Returns the name of the key in the header of a sealed value, without opening it.
 * @throws VaultError `not_authentic`
 */
export function kidOf(sealed: string): string {
  return parseSealed(sealed).header.kid;
}

function headerOf(protectedHeader: string): SealedValue['header'] {
  let header: unknown;
  try {
    header = JSON.parse(Buffer.from(protectedHeader, 'base64url').toString());
  } catch {
    throw notAuthentic();
  }
  if (typeof header !== 'object' || header === null || !('alg' in header) || !('kid' in header)) throw notAuthentic();
  const { alg, kid } = header;
  // An invalid name cannot name a lost key, and must not appear in messages and tables.
  if (typeof alg !== 'string' || typeof kid !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(kid)) throw notAuthentic();
  return { alg, kid };
}
