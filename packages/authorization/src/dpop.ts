import { createHash, randomUUID } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import * as z from 'zod';

/** A private JWK that tokens are bound to (RFC 9449). Secret; kept beside the tokens, which are worth nothing without it. */
export type DpopKey = Readonly<Record<string, unknown>>;

export const dpopAlgorithm = 'ES256';

const coordinateSchema = z.string().regex(/^[\w-]{43}$/);
const dpopKeySchema = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: coordinateSchema,
  y: coordinateSchema,
  d: coordinateSchema,
});

export async function newDpopKey(): Promise<DpopKey> {
  const { privateKey } = await generateKeyPair(dpopAlgorithm, { extractable: true });
  const { kty, crv, x, y, d } = await exportJWK(privateKey);
  return { kty, crv, x, y, d };
}

/** A DPoP key, ready to sign. */
export interface DpopKeyPair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** The key as the library takes it. @throws {TypeError} for what `newDpopKey` has not made. */
export async function dpopKeyPair(dpopKey: DpopKey): Promise<DpopKeyPair> {
  const { d, ...publicJwk } = parseDpopKey(dpopKey);
  const options = { extractable: true };
  const [privateKey, publicKey] = await Promise.all([
    importJWK({ ...publicJwk, d }, dpopAlgorithm),
    importJWK(publicJwk, dpopAlgorithm, options),
  ]);
  if (privateKey instanceof Uint8Array || publicKey instanceof Uint8Array) throw new TypeError('not a key pair');
  return { privateKey, publicKey };
}

/** `dpop_jkt` (RFC 9449 section 10): binds the code to the key before there is a token. */
export function dpopThumbprint(dpopKey: DpopKey): Promise<string> {
  const { d: _, ...publicJwk } = parseDpopKey(dpopKey);
  return calculateJwkThumbprint(publicJwk);
}

export interface DpopProofRequest {
  readonly dpopKey: DpopKey;
  readonly accessToken: string;
  /** HTTP method of the request that the proof is for. */
  readonly method: string;
  /** Its URL; query and fragment are not part of the proof. */
  readonly url: string | URL;
  /** What the resource server sent as `DPoP-Nonce` before. */
  readonly nonce?: string | undefined;
}

/**
 * The `DPoP` header of one request with a bound token (RFC 9449 sections 4.2 and 7). Good for that request alone, and for
 * the short time that a resource server allows.
 *
 * @param now milliseconds since the epoch.
 */
export async function dpopProof(request: DpopProofRequest, now: number): Promise<string> {
  const { d: _, ...jwk } = parseDpopKey(request.dpopKey);
  const { privateKey } = await dpopKeyPair(request.dpopKey);
  const target = new URL(request.url);
  return new SignJWT({
    htm: request.method.toUpperCase(),
    htu: target.origin + target.pathname,
    ath: createHash('sha256').update(request.accessToken).digest('base64url'),
    ...(request.nonce !== undefined && { nonce: request.nonce }),
  })
    .setProtectedHeader({ alg: dpopAlgorithm, typ: 'dpop+jwt', jwk })
    .setJti(randomUUID())
    .setIssuedAt(Math.floor(now / 1000))
    .sign(privateKey);
}

function parseDpopKey(dpopKey: DpopKey): z.output<typeof dpopKeySchema> {
  const parsed = dpopKeySchema.safeParse(dpopKey);
  if (!parsed.success) throw new TypeError('not a DPoP key');
  return parsed.data;
}
