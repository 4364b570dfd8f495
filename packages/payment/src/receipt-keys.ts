import { createPrivateKey, createPublicKey, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { z } from 'zod';
import { ReceiptError } from './receipt-error.ts';

/** As configured: a private key signs and verifies, a public one (of a retired key) only verifies. */
export interface ReceiptKey {
  readonly kid: string;
  /** An Ed25519 JWK (RFC 8037). */
  readonly key: ReceiptJwk;
}

export interface ReceiptJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  /** Absent in a public key. */
  readonly d?: string;
}

/** A key as it is published (RFC 7517). */
export interface PublicReceiptJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

export interface ReceiptKeys {
  /** Signs. Held in a form that shows nothing when printed. */
  readonly current: { readonly kid: string; readonly key: KeyObject };
  /** That of the current key first. */
  readonly published: readonly PublicReceiptJwk[];
}

/** A kid stands in headers and logs: it must not be able to look like anything else. */
const KID = /^[A-Za-z0-9._-]{1,64}$/;
const bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, { error: 'must be 32 bytes in base64url' });

/** An Ed25519 key as an operator configures it, private or public. Whether `x` belongs to `d` is checked by `createReceiptKeys`. */
export const receiptJwkSchema = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: bytes32,
    d: bytes32.optional(),
    alg: z.enum(['EdDSA', 'Ed25519']).optional(),
    use: z.literal('sig').optional(),
  })
  .transform(({ kty, crv, x, d }): ReceiptJwk => ({ kty, crv, x, ...(d === undefined ? {} : { d }) }));

/**
 * The first key signs; all are published, so that receipts of a key that signs no more can still be verified.
 *
 * @throws ReceiptError `invalid_key`, `duplicate_kid`, `no_signing_key`
 */
export function createReceiptKeys(keys: readonly ReceiptKey[]): ReceiptKeys {
  const [first] = keys;
  if (first?.key.d === undefined) throw new ReceiptError('no_signing_key', 'The first receipt key must be private.');
  const published = keys.map(publishedOf);
  for (const [at, { kid }] of published.entries())
    if (published.findIndex(other => other.kid === kid) !== at)
      throw new ReceiptError('duplicate_kid', `Two receipt keys are named "${kid}".`);
  return { current: { kid: first.kid, key: keyObjectOf(first) }, published };
}

function publishedOf(configured: ReceiptKey): PublicReceiptJwk {
  const { kid } = configured;
  if (!KID.test(kid))
    throw new ReceiptError(
      'invalid_key',
      'A receipt key has a name that is not 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-".',
    );
  // Made again from the key itself: whatever else is in the configured object is not published.
  const { x } = keyObjectOf(configured).export({ format: 'jwk' });
  if (x === undefined || x !== configured.key.x) throw unfit(kid);
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}

function keyObjectOf({ kid, key }: ReceiptKey): KeyObject {
  const jwk = receiptJwkSchema.safeParse(key);
  if (!jwk.success) throw unfit(kid);
  const given = { format: 'jwk' as const, key: { ...jwk.data } };
  try {
    return jwk.data.d === undefined ? createPublicKey(given) : createPrivateKey(given);
  } catch {
    // The error of node:crypto may quote the key.
    throw unfit(kid);
  }
}

const unfit = (kid: string) => new ReceiptError('invalid_key', `The receipt key "${kid}" is not a valid Ed25519 JWK.`);

/** RFC 8410 section 7: what comes before the 32 bytes of an Ed25519 private key in PKCS #8. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;

/**
 * The key that signs where an operator configures none: derived from a key of the vault by HKDF (RFC 5869), the same on every
 * replica. It is replaced when that vault key is. Nothing about the vault key can be learnt from it.
 *
 * @param kid published; by convention that of the vault key
 * @throws ReceiptError `invalid_key` when the vault key is not 256 bits long
 */
export function deriveReceiptKey(kid: string, vaultKey: Uint8Array): ReceiptKey {
  if (vaultKey.byteLength !== KEY_BYTES)
    throw new ReceiptError('invalid_key', `The vault key "${kid}" is not 256 bits long.`);
  const seed = Buffer.from(hkdfSync('sha256', vaultKey, '', 'postern receipt signing key: Ed25519, 1', KEY_BYTES));
  const key = createPrivateKey({ format: 'der', type: 'pkcs8', key: Buffer.concat([PKCS8_ED25519, seed]) });
  return { kid, key: receiptJwkSchema.parse(key.export({ format: 'jwk' })) };
}

/** A fresh key, named by its thumbprint (RFC 7638), to be put first in the configuration. */
export async function newReceiptKey(): Promise<ReceiptKey> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = receiptJwkSchema.parse(privateKey.export({ format: 'jwk' }));
  return { kid: await calculateJwkThumbprint({ ...key }, 'sha256'), key };
}
