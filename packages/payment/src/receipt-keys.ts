import { createPrivateKey, createPublicKey, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { z } from 'zod';

/**
 * Why signing failed or a key was rejected. Not part of the API: operators see these codes at start-up, or in the log of an internal error.
 */
export type ReceiptErrorCode =
  /** A configured key is invalid. */
  | 'invalid_key'
  /** Two keys have the same `kid`. */
  | 'duplicate_kid'
  /** There is no key, or the first one is public and cannot sign. */
  | 'no_signing_key'
  /** The record has another kind or another MCP server, or its request and outcome do not match. */
  | 'unsuitable_record'
  /** The approved digest differs from the digest of the stored terms. */
  | 'digest_mismatch';

/** The message contains at most a `kid` or an elicitation id, never a key. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError';
  readonly code: ReceiptErrorCode;

  constructor(code: ReceiptErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A configured key. A private key signs and verifies; the public part of a retired key only verifies. */
export interface ReceiptKey {
  readonly kid: string;
  /** An Ed25519 JWK (RFC 8037). */
  readonly key: ReceiptJwk;
}

export interface ReceiptJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  /** Absent from a public key. */
  readonly d?: string;
}

/** A published key (RFC 7517). */
export interface PublicReceiptJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

export interface ReceiptKeys {
  /** Signs. A `KeyObject` reveals nothing when printed. */
  readonly current: { readonly kid: string; readonly key: KeyObject };
  /** The current key comes first. */
  readonly published: readonly PublicReceiptJwk[];
}

/** A `kid` appears in headers and logs, so only harmless characters are allowed. */
const KID = /^[A-Za-z0-9._-]{1,64}$/;
const bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, { error: 'must be 32 bytes in base64url' });

/** An Ed25519 key in the configuration, private or public. `createReceiptKeys` checks that `x` belongs to `d`. */
export const receiptJwkSchema = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: bytes32,
    d: bytes32.optional(),
    alg: z.enum(['EdDSA', 'Ed25519']).optional(),
    use: z.literal('sig').optional(),
  })
  .transform(({ kty, crv, x, d }): ReceiptJwk => ({ kty, crv, x, d }));

/**
 * Creates the keys of receipts. The first key signs. All keys are published, so that receipts of retired keys stay verifiable.
 *
 * @throws ReceiptError `invalid_key`, `duplicate_kid`, `no_signing_key`
 */
export function createReceiptKeys(keys: readonly ReceiptKey[]): ReceiptKeys {
  const [first] = keys;
  if (first?.key.d === undefined) throw new ReceiptError('no_signing_key', 'The first receipt key must be private.');
  const published = keys.map(publishedOf);
  for (const [at, { kid }] of published.entries())
    if (published.findIndex(other => other.kid === kid) !== at)
      throw new ReceiptError('duplicate_kid', `Two receipt keys have the kid "${kid}".`);
  return { current: { kid: first.kid, key: keyObjectOf(first) }, published };
}

function publishedOf(configured: ReceiptKey): PublicReceiptJwk {
  const { kid } = configured;
  if (!KID.test(kid))
    throw new ReceiptError(
      'invalid_key',
      'The kid of a receipt key must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-".',
    );
  // Exported from the parsed key, so that no other configured member is published.
  const { x } = keyObjectOf(configured).export({ format: 'jwk' });
  if (x === undefined || x !== configured.key.x) throw invalidKey(kid);
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}

function keyObjectOf({ kid, key }: ReceiptKey): KeyObject {
  const jwk = receiptJwkSchema.safeParse(key);
  if (!jwk.success) throw invalidKey(kid);
  const given = { format: 'jwk' as const, key: { ...jwk.data } };
  try {
    return jwk.data.d === undefined ? createPublicKey(given) : createPrivateKey(given);
  } catch {
    // Errors of node:crypto may quote the key.
    throw invalidKey(kid);
  }
}

const invalidKey = (kid: string) =>
  new ReceiptError('invalid_key', `The receipt key "${kid}" is not a valid Ed25519 JWK.`);

/** PKCS #8 prefix of the 32 bytes of an Ed25519 private key (RFC 8410 section 7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;

/**
 * Derives the signing key from a vault key by HKDF (RFC 5869), for operators who configure no receipt keys. Equal on all replicas. It
 * reveals nothing about the vault key.
 *
 * @param kid published; by convention the `kid` of the vault key
 * @throws ReceiptError `invalid_key` unless the vault key has 256 bits
 */
export function deriveReceiptKey(kid: string, vaultKey: Uint8Array): ReceiptKey {
  if (vaultKey.byteLength !== KEY_BYTES)
    throw new ReceiptError('invalid_key', `The vault key "${kid}" does not have 256 bits.`);
  const seed = Buffer.from(hkdfSync('sha256', vaultKey, '', 'postern receipt signing key: Ed25519, 1', KEY_BYTES));
  const key = createPrivateKey({ format: 'der', type: 'pkcs8', key: Buffer.concat([PKCS8_ED25519, seed]) });
  return { kid, key: receiptJwkSchema.parse(key.export({ format: 'jwk' })) };
}

/** Creates a key with its thumbprint (RFC 7638) as `kid`. Operators put it first in the configuration. */
export async function newReceiptKey(): Promise<ReceiptKey> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = receiptJwkSchema.parse(privateKey.export({ format: 'jwk' }));
  return { kid: await calculateJwkThumbprint({ ...key }, 'sha256'), key };
}
