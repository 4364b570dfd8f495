import { createHmac, createPrivateKey, createPublicKey, createSecretKey, type KeyObject, sign } from 'node:crypto';

/** The signed content (Standard Webhooks, "Signature scheme"). */
export interface SignedContent {
  readonly webhookId: string;
  /** Time of this attempt, in seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string;
}

/** Makes one entry of the `webhook-signature` header. Its key cannot be printed or serialized. */
export interface WebhookSigner {
  sign(content: SignedContent): string;
}

/** A webhook secret or signing key is invalid. The message never contains its value. */
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
 * Creates a signer of version `v1`: HMAC-SHA256.
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
 * Creates a signer of version `v1a`: Ed25519 (RFC 8032).
 * @param signingKey `whsk_` and the 32-byte private key in base64, or libsodium's 64 bytes with the public half last
 * @throws WebhookKeyError
 */
export function ed25519Signer(signingKey: string): WebhookSigner {
  const key = privateKeyOf(signingKey);
  return { sign: content => `v1a,${sign(null, Buffer.from(signedText(content)), key).toString('base64')}` };
}

function privateKeyOf(signingKey: string): KeyObject {
  const bytes = bytesOf(signingKey, 'whsk_');
  if (bytes.byteLength !== ED25519_BYTES && bytes.byteLength !== 2 * ED25519_BYTES)
    throw new WebhookKeyError('must be whsk_ and the 32 or 64 bytes of an Ed25519 key in base64');
  const seed = bytes.subarray(0, ED25519_BYTES);
  const key = createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });
  // Mismatched halves come from two keys, and receivers could verify with neither.
  if (bytes.byteLength > ED25519_BYTES && !rawPublicKey(key).equals(bytes.subarray(ED25519_BYTES)))
    throw new WebhookKeyError('has a public half that does not match its private half');
  return key;
}

function rawPublicKey(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-ED25519_BYTES);
}

function bytesOf(text: string, prefix: string): Buffer {
  const encoded = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  // Buffer ignores characters outside base64, so a truncated secret would pass.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0)
    throw new WebhookKeyError(`must be ${prefix} and base64`);
  const bytes = Buffer.from(encoded, 'base64');
  if (new Set(bytes).size < 8) throw new WebhookKeyError('is not random');
  return bytes;
}

function signedText({ webhookId, timestamp, body }: SignedContent): string {
  return `${webhookId}.${timestamp}.${body}`;
}
