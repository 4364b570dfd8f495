import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { JWK } from 'jose';
import * as z from 'zod';

export const clientKeyAlgorithms = ['ES256', 'ES384', 'ES512', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const;
export type ClientKeyAlgorithm = (typeof clientKeyAlgorithms)[number];

/** The private key that a client authenticates with (`private_key_jwt`). Secret as a whole. */
export interface ClientKey {
  readonly jwk: JWK;
  readonly algorithm: ClientKeyAlgorithm;
  /** Sent in the header of assertions, so that the authorization server finds the public key. */
  readonly kid?: string;
}

const minRsaBits = 2048;

/** A private JWK (RFC 7517) as JSON text. Faults say what is wrong with it, never what is in it. */
export const clientKeySchema = z
  .string()
  .min(1)
  .max(10_000)
  .transform((text, context): ClientKey => {
    const fault = (message: string): never => {
      context.addIssue({ code: 'custom', message, input: undefined });
      return z.NEVER;
    };
    const jwk = jsonObject(text);
    if (jwk === undefined) return fault('must be a private JWK as JSON');
    if (jwk['use'] !== undefined && jwk['use'] !== 'sig') return fault('must be a key for signatures');
    if (jwk['kid'] !== undefined && typeof jwk['kid'] !== 'string') return fault('must have a text as kid');

    const key = privateKey(jwk);
    if (key === undefined) return fault('must be a private JWK of type EC, RSA or OKP');
    const possible = algorithmsOf(key);
    if (possible.length === 0) return fault('must be P-256, P-384, P-521, Ed25519 or RSA of 2048 bits or more');
    const [usual] = possible;
    const algorithm = jwk['alg'] === undefined ? usual : possible.find(name => name === jwk['alg']);
    if (algorithm === undefined) return fault(`must have ${possible.join(' or ')} as alg`);
    if (!isPair(key, jwk)) return fault('must have a private part that belongs to its public part');

    return { jwk, algorithm, ...(typeof jwk['kid'] === 'string' && { kid: jwk['kid'] }) };
  });

function jsonObject(text: string): (JWK & Record<string, unknown>) | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function privateKey(jwk: JWK): KeyObject | undefined {
  if (jwk.d === undefined) return undefined;
  try {
    return createPrivateKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function algorithmsOf(key: KeyObject): readonly ClientKeyAlgorithm[] {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ec':
      if (namedCurve === 'prime256v1') return ['ES256'];
      if (namedCurve === 'secp384r1') return ['ES384'];
      return namedCurve === 'secp521r1' ? ['ES512'] : [];
    case 'rsa':
      return modulusLength >= minRsaBits ? ['RS256', 'PS256'] : [];
    case 'ed25519':
      return ['EdDSA', 'Ed25519'];
    default:
      return [];
  }
}

/** The public members of a JWK are free text beside the private ones; an edited file may hold those of two keys. */
function isPair(key: KeyObject, { d: _, ...publicMembers }: JWK): boolean {
  try {
    const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
    const probe = Buffer.from('pair');
    const publicKey = createPublicKey({ key: { ...publicMembers }, format: 'jwk' });
    return verify(digest, probe, publicKey, sign(digest, probe, key));
  } catch {
    return false;
  }
}
