import { createPublicKey, type webcrypto } from 'node:crypto';

/** RFC 7518 section 3.3: RSA keys of 2048 bits or larger. */
const MIN_RSA_BITS = 2048;

/** Why a JWK cannot verify signatures, or undefined when it can. Never says anything about the key's values. */
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
