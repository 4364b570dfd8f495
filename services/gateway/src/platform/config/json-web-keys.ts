import { createPublicKey, type webcrypto } from 'node:crypto';
import type { JWK } from 'jose';

/** RFC 7518 section 3.3: RSA keys of 2048 bits or larger. */
const MIN_RSA_BITS = 2048;

/** Returns why a JWK is not a usable public key, or undefined. Never includes the key's values. */
export function publicKeyFault(jwk: webcrypto.JsonWebKey): string | undefined {
  if ('d' in jwk) return 'must be a public key';
  try {
    const { asymmetricKeyDetails } = createPublicKey({ format: 'jwk', key: jwk });
    const bits = asymmetricKeyDetails?.modulusLength;
    return bits !== undefined && bits < MIN_RSA_BITS ? `must have at least ${MIN_RSA_BITS} bits` : undefined;
  } catch {
    return 'is not a usable public key';
  }
}

/** Returns the key management algorithm for a recipient key (RFC 7518 section 4). RSA1_5 is excluded. */
export function deliveryAlgorithm(jwk: JWK): 'RSA-OAEP-256' | 'ECDH-ES' | undefined {
  switch (jwk.kty) {
    case 'RSA':
      return 'RSA-OAEP-256';
    case 'EC':
      return jwk.crv === 'P-256' || jwk.crv === 'P-384' || jwk.crv === 'P-521' ? 'ECDH-ES' : undefined;
    case 'OKP':
      return jwk.crv === 'X25519' ? 'ECDH-ES' : undefined;
    default:
      return undefined;
  }
}
