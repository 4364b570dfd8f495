import { hash } from 'node:crypto';

const MIN_NONCE_BYTES = 16;
const MAX_NONCE_BYTES = 32;
const DIGEST = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/**
 * The challenge of a passkey ceremony: nonce ‖ digest of the terms ‖ SHA-256 of the elicitation id. What the authenticator signs
 * is thereby about these terms and this elicitation, and says so to anybody who later looks at it (PSD2 RTS Art. 5, dynamic
 * linking). The last 64 bytes have fixed places, so two different inputs never make one challenge.
 *
 * @param p.nonce fresh random bytes, 16 to 32 (WebAuthn section 13.4.3)
 * @param p.digest as in the request: SHA-256, base64url
 * @throws RangeError for a nonce or a digest of another length
 */
export function passkeyChallenge(p: {
  readonly nonce: Uint8Array;
  readonly digest: string;
  readonly elicitationId: string;
}): Uint8Array<ArrayBuffer> {
  if (p.nonce.byteLength < MIN_NONCE_BYTES || p.nonce.byteLength > MAX_NONCE_BYTES)
    throw new RangeError('The nonce of a challenge has 16 to 32 bytes.');
  if (!DIGEST.test(p.digest)) throw new RangeError('The digest of a challenge is a SHA-256 in base64url.');
  const digest = Buffer.from(p.digest, 'base64url');
  return new Uint8Array(Buffer.concat([p.nonce, digest, hash('sha256', p.elicitationId, 'buffer')]));
}
