import { randomUUID } from 'node:crypto';
import { importJWK, importPKCS8, type JWK, SignJWT } from 'jose';
import { invalidOptions } from './errors.ts';

/** A private key of this MCP server whose public half is registered at the gateway. */
export interface PrivateKeyAuth {
  /** A private JWK, a PKCS #8 PEM text, or a `CryptoKey` that can sign. */
  readonly privateKey: JWK | CryptoKey | string;
  readonly kid: string;
  /** The id of this MCP server at the gateway; becomes `iss` and `sub`. */
  readonly mcpServerId: string;
  /** JWS algorithm. Default: the JWK's `alg`, else `ES256`. */
  readonly algorithm?: string;
  /** `aud` of the tokens: the gateway's public URL. Default: `url` without a trailing slash, so set it where `url` is another one. */
  readonly audience?: string;
}

export type Authorizer = () => Promise<string>;

/** Seconds. One call uses a token once; the rest is clock skew. */
const TOKEN_LIFETIME = 60;

export function apiKeyAuthorizer(apiKey: string): Authorizer {
  const header = `Bearer ${apiKey}`;
  return () => Promise.resolve(header);
}

/** Signs one short-lived JWT per call (in the manner of RFC 7523 section 3). */
export function privateKeyAuthorizer(auth: PrivateKeyAuth, audience: string, now: () => number): Authorizer {
  const algorithm = auth.algorithm ?? jwkAlgorithm(auth.privateKey) ?? 'ES256';
  let key: Promise<CryptoKey | Uint8Array> | undefined;
  // The errors of jose may quote the key.
  const unfit = (): never => {
    const text = `auth.privateKey: a private JWK, PKCS #8 PEM text or CryptoKey that signs with ${algorithm} is needed.`;
    throw invalidOptions(text);
  };
  return async () => {
    key ??= importKey(auth.privateKey, algorithm);
    const issuedAt = Math.floor(now() / 1000);
    const token = await new SignJWT()
      .setProtectedHeader({ alg: algorithm, kid: auth.kid, typ: 'JWT' })
      .setIssuer(auth.mcpServerId)
      .setSubject(auth.mcpServerId)
      .setAudience(auth.audience ?? audience)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_LIFETIME)
      .sign(await key.catch(unfit))
      .catch(unfit);
    return `Bearer ${token}`;
  };
}

function jwkAlgorithm(key: PrivateKeyAuth['privateKey']): string | undefined {
  return typeof key === 'object' && 'alg' in key ? key.alg : undefined;
}

async function importKey(key: PrivateKeyAuth['privateKey'], algorithm: string): Promise<CryptoKey | Uint8Array> {
  if (typeof key === 'string') return await importPKCS8(key, algorithm);
  if (key instanceof CryptoKey) return key;
  return await importJWK(key, algorithm);
}
