import { createHmac, createPrivateKey, createPublicKey, createSecretKey, type KeyObject, sign } from 'node:crypto';

/** What is signed: Standard Webhooks, "Signature scheme". */
export interface SignedContent {
  readonly webhookId: string;
  /** Seconds since the epoch, of this attempt. */
  readonly timestamp: number;
  readonly body: string;
}

/** Makes one entry of the `webhook-signature` header. Keeps its key to itself: it cannot be printed or serialized. */
export interface WebhookSigner {
  sign(content: SignedContent): string;
}

/** A webhook secret or signing key cannot be used. Never says anything about its value. */
export class WebhookKeyError extends Error {
  override readonly name = 'WebhookKeyError';
  readonly code = 'webhook_key_invalid';
}

const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const ED25519_BYTES = 32;
/** PKCS #8 of an Ed25519 key up to its seed (RFC 8410 section 7). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Signatures of version `v1`: HMAC-SHA256.
 * @param secret `whsec_` and 24 to 64 bytes in base64
 * @throws WebhookKeyError
 */
export function hmacSigner(secret: string): WebhookSigner {
  const bytes = bytesOf(secret, 'whsec_');
  if (bytes.byteLength < MIN_SECRET_BYTES || bytes.byteLength > MAX_SECRET_BYTES)
    throw new WebhookKeyError(`must be whsec_ and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64`);
  const key = createSecretKey(bytes);
  return { sign: content => `v1,${createHmac('sha256', key).update(signedText(content)).digest('base64')}` };
}

/**
 * Signatures of version `v1a`: Ed25519 (RFC 8032).
 * @param signingKey `whsk_` and the 32 bytes of the private key in base64; the 64 of libsodium, public half last, will do too
 * @throws WebhookKeyError
 */
export function ed25519Signer(signingKey: string): WebhookSigner {
  const key = privateKeyOf(signingKey);
  return { sign: content => `v1a,${sign(null, Buffer.from(signedText(content)), key).toString('base64')}` };
}

/** What a receiver verifies `v1a` with: `whpk_` and the 32 bytes of the public key. @throws WebhookKeyError */
export function publicKeyOf(signingKey: string): string {
  return `whpk_${rawPublicKey(privateKeyOf(signingKey)).toString('base64')}`;
}

function privateKeyOf(signingKey: string): KeyObject {
  const bytes = bytesOf(signingKey, 'whsk_');
  if (bytes.byteLength !== ED25519_BYTES && bytes.byteLength !== 2 * ED25519_BYTES)
    throw new WebhookKeyError('must be whsk_ and the 32 or 64 bytes of an Ed25519 key in base64');
  const seed = bytes.subarray(0, ED25519_BYTES);
  const key = createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });
  // Halves that do not belong together are two keys mixed up, and a receiver could not tell which.
  if (bytes.byteLength > ED25519_BYTES && !rawPublicKey(key).equals(bytes.subarray(ED25519_BYTES)))
    throw new WebhookKeyError('has a public half that is not its own');
  return key;
}

function rawPublicKey(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-ED25519_BYTES);
}

function bytesOf(text: string, prefix: string): Buffer {
  const encoded = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  // Buffer ignores what is not base64, so that half a secret would pass for a whole one.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0)
    throw new WebhookKeyError(`must be ${prefix} and base64`);
  const bytes = Buffer.from(encoded, 'base64');
  if (new Set(bytes).size < 8) throw new WebhookKeyError('is not random');
  return bytes;
}

function signedText({ webhookId, timestamp, body }: SignedContent): string {
  return `${webhookId}.${timestamp}.${body}`;
}
