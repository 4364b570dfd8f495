import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { JWK } from 'jose';
import * as client from 'openid-client';
import * as z from 'zod';

export const clientAuthenticationSchema = z.enum([
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'none',
]);
export type ClientAuthentication = z.infer<typeof clientAuthenticationSchema>;

/** The credentials with which a client authenticates. */
export interface ClientCredentials {
  readonly clientSecret?: string | undefined;
  readonly clientKey?: ClientKey | undefined;
  readonly clientAuthentication?: ClientAuthentication | undefined;
}

/** The client's registration at an authorization server. */
export interface ClientRegistration extends ClientCredentials {
  readonly clientId: string;
}

/** Returns the configured method, otherwise the method that fits the credentials. */
export function clientAuthenticationOf(p: ClientCredentials): ClientAuthentication {
  if (p.clientAuthentication !== undefined) return p.clientAuthentication;
  if (p.clientKey !== undefined) return 'private_key_jwt';
  return p.clientSecret === undefined ? 'none' : 'client_secret_basic';
}

/** RFC 7518 section 3.2: an HMAC key is at least as long as its digest. */
const minHmacKeyBytes = 32;

/** Returns missing and superfluous credentials by member name. */
export function clientCredentialFaults(p: ClientCredentials): { member: string; message: string }[] {
  const method = clientAuthenticationOf(p);
  const needsKey = method === 'private_key_jwt';
  const needsSecret = method !== 'none' && !needsKey;
  const faults: { member: string; message: string }[] = [];
  const fault = (member: string, message: string) => faults.push({ member, message });

  if (needsSecret && p.clientSecret === undefined)
    fault('clientSecret', `is needed for clientAuthentication ${method}`);
  if (!needsSecret && p.clientSecret !== undefined)
    fault('clientSecret', `must not be set when clientAuthentication is ${method}`);
  if (needsKey && p.clientKey === undefined) fault('clientKey', `is needed for clientAuthentication ${method}`);
  if (!needsKey && p.clientKey !== undefined)
    fault('clientKey', `must not be set when clientAuthentication is ${method}`);
  if (method === 'client_secret_jwt' && Buffer.byteLength(p.clientSecret ?? '') < minHmacKeyBytes)
    fault('clientSecret', 'must have 32 bytes or more for client_secret_jwt');
  return faults;
}

/**
 * Authenticates requests of this registration. Assertions (RFC 7523) live for a minute, have a unique id, and name the issuer
 * as their only audience, so a server that receives a foreign assertion cannot replay it (draft-ietf-oauth-rfc7523bis
 * section 3). Credentials are never part of a URL.
 */
export function createClientAuthentication(registration: ClientRegistration): client.ClientAuth {
  const { clientSecret, clientKey } = registration;
  switch (clientAuthenticationOf(registration)) {
    case 'client_secret_basic':
      return clientSecretBasic(registration);
    case 'client_secret_post':
      return client.ClientSecretPost(clientSecret);
    case 'client_secret_jwt':
      return client.ClientSecretJwt(clientSecret, { [client.modifyAssertion]: soleAudience });
    case 'private_key_jwt':
      if (clientKey === undefined) throw new TypeError('private_key_jwt needs a key');
      return privateKeyJwt(clientKey);
    case 'none':
      return client.None();
  }
}

/**
 * Form-encodes id and secret before joining them (RFC 6749 section 2.3.1). Unlike the library, it does not encode `-`, `_`
 * and `.`, so typical ids and secrets also work with servers that forget to decode.
 */
export function clientSecretBasic({ clientId, clientSecret }: ClientRegistration): client.ClientAuth {
  if (clientSecret === undefined) throw new TypeError('client_secret_basic needs a secret');
  const credentials = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64');
  return (_server, _registered, _parameters, headers) => headers.set('authorization', `Basic ${credentials}`);
}

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice('='.length);

function privateKeyJwt({ jwk, algorithm, kid }: ClientKey): client.ClientAuth {
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' }).toCryptoKey(importAlgorithms[algorithm], false, [
    'sign',
  ]);
  return client.PrivateKeyJwt(kid === undefined ? { key } : { key, kid }, {
    [client.modifyAssertion](header, payload) {
      header['alg'] = algorithm;
      soleAudience(header, payload);
    },
  });
}

/** Asserts a single audience, which the library sets to the issuer. A list would make the assertion valid elsewhere. */
function soleAudience(_: unknown, payload: Record<string, unknown>): void {
  if (typeof payload['aud'] !== 'string') throw new TypeError('a client assertion has one audience');
}

const importAlgorithms: Record<ClientKeyAlgorithm, { name: string; namedCurve?: string; hash?: string }> = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  ES384: { name: 'ECDSA', namedCurve: 'P-384' },
  ES512: { name: 'ECDSA', namedCurve: 'P-521' },
  EdDSA: { name: 'Ed25519' },
  Ed25519: { name: 'Ed25519' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
};

export const clientKeyAlgorithms = ['ES256', 'ES384', 'ES512', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const;
export type ClientKeyAlgorithm = (typeof clientKeyAlgorithms)[number];

/** The private key that a client authenticates with (`private_key_jwt`). Secret as a whole. */
export interface ClientKey {
  readonly jwk: JWK;
  readonly algorithm: ClientKeyAlgorithm;
  /** Sent in the header of assertions to identify the public key. */
  readonly kid?: string;
}

const minRsaBits = 2048;

/** A private JWK (RFC 7517) as JSON text. Errors describe the fault, never the content. */
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

/** Whether private and public members belong together. An edited file may mix the members of two keys. */
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
