import { createHash, randomUUID } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import * as z from 'zod';

/** A private JWK that tokens are bound to (RFC 9449). Secret; stored with the tokens, which are useless without it. */
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

/** Imports a key for the library. @throws {TypeError} for keys that `newDpopKey` did not create */
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
  /** HTTP method of the request. */
  readonly method: string;
  /** URL of the request; query and fragment are not part of the proof. */
  readonly url: string | URL;
  /** The last `DPoP-Nonce` of the resource server. */
  readonly nonce?: string | undefined;
}

/**
 * Builds the `DPoP` header of one request with a bound token (RFC 9449 sections 4.2 and 7). Valid for that request only, and
 * for the short time that the resource server allows.
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

/** Whether the authorization server requires a nonce (RFC 9449 section 8). */
export function isNonceChallenge({ status, headers }: Response, errorCode: string): boolean {
  if ((status !== 400 && status !== 401) || !headers.has('dpop-nonce')) return false;
  return errorCode === 'use_dpop_nonce' || /\berror="?use_dpop_nonce\b/.test(headers.get('www-authenticate') ?? '');
}
