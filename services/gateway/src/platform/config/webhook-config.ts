import { createHmac, createPrivateKey, createPublicKey, createSecretKey, type KeyObject, sign } from 'node:crypto';
import { type ElicitationStatus, kinds, paymentEventTypes } from '@postern/elicitation';
import { z } from 'zod';
import { slug, webUrl } from './config-values.ts';

const ends = ['completed', 'declined', 'failed', 'cancelled', 'expired'] as const satisfies ElicitationStatus[];
const statuses = ['pending', 'active', 'verifying', ...ends] as const satisfies ElicitationStatus[];

/** Turns a key into a signer while parsing, so that no later code can print, store or log it. */
function signerOf(read: (text: string) => WebhookSigner, prefix: string) {
  return z
    .string()
    .meta({ pattern: `^${prefix}[A-Za-z0-9+/]{32,}={0,2}$` })
    .transform((text, context): WebhookSigner => {
      try {
        return read(text);
      } catch (error) {
        if (!(error instanceof WebhookKeyError)) throw error;
        context.addIssue({ code: 'custom', message: error.message });
        return z.NEVER;
      }
    });
}

const members = {
  id: slug.describe('Never change it: pending deliveries belong to this id.'),
  secrets: z
    .array(signerOf(hmacSigner, 'whsec_'))
    .max(2)
    .default([])
    .describe(
      'Secrets for HMAC signatures (v1): whsec_ and 24 to 64 random bytes in base64. Configure two while you rotate them.',
    ),
  signingKeys: z
    .array(signerOf(ed25519Signer, 'whsk_'))
    .max(2)
    .default([])
    .describe(
      'Keys for Ed25519 signatures (v1a), which receivers verify without a secret: whsk_ and a private key in base64.',
    ),
  ratePerSecond: z.int().min(1).max(1000).default(50).describe('Rate limit, over all gateway processes.'),
  concurrency: z.int().min(1).max(64).default(8).describe('Maximum concurrent requests, per gateway process.'),
};

function signed<
  S extends z.ZodType<{ readonly secrets: readonly unknown[]; readonly signingKeys: readonly unknown[] }>,
>(schema: S) {
  return schema
    .refine(endpoint => endpoint.secrets.length + endpoint.signingKeys.length > 0, {
      error: 'needs a secret or a signing key',
      path: ['secrets'],
    })
    .meta({
      anyOf: ['secrets', 'signingKeys'].map(name => ({
        required: [name],
        properties: { [name]: { type: 'array', minItems: 1 } },
      })),
    });
}

export const webhookEndpointSchema = signed(
  z.strictObject({
    ...members,
    url: webUrl.describe('URL of the endpoint. https, or http on a loopback address.'),
    kinds: z.array(z.enum(kinds)).min(1).optional().describe('Kinds to send. Default: all.'),
    statuses: z
      .array(z.enum(statuses))
      .min(1)
      .default([...ends])
      .describe('Statuses to send. Default: all final statuses.'),
    payments: z
      .array(z.enum(paymentEventTypes))
      .default([...paymentEventTypes])
      .describe('Events of payments after their elicitation has ended to send. Default: all.'),
  }),
);

/** Endpoints of the operator, for changes of passkeys. */
export const operatorWebhookSchema = signed(
  z.strictObject({
    ...members,
    url: webUrl.describe('URL of the endpoint. https, or http on a loopback address.'),
  }),
);

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
