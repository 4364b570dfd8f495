import { createRemoteJWKSet, customFetch, decodeJwt, errors, type JWTVerifyGetKey } from 'jose';
import { AuthorizationError, type AuthorizationErrorCode } from './authorization-error.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { createMetadataCache } from './server-metadata.ts';

/** Asymmetric signatures only. Never `none`, and never HMAC, which would take a public key as secret. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const maxTokenLength = 16_384;

/** Whether a token has one of these explicit types, or none (RFC 8725 section 3.11). The header is JSON: its `typ` may be no text. */
export const hasTypeIn = (types: ReadonlySet<string>, { typ }: { readonly typ?: unknown }): boolean =>
  typ === undefined || (typeof typ === 'string' && types.has(typ.toLowerCase()));

/**
 * Returns the unverified `iss` of the token, only to look up the configuration. It is verified afterwards.
 * @throws {AuthorizationError} `code` for a text that is no JWT
 */
export function claimedIssuer(token: string, code: AuthorizationErrorCode): string | undefined {
  if (token.length > maxTokenLength) throw new AuthorizationError(code);
  try {
    return decodeJwt(token).iss;
  } catch {
    throw new AuthorizationError(code);
  }
}

/** Returns the keys of an identity provider, from `jwksUri` or its latest `jwks_uri`. */
export function keysOf(p: { issuer: string; jwksUri?: string | undefined; fetch: OutboundFetch; now: () => number }) {
  const metadata = createMetadataCache(p);
  let last: { readonly uri: string; readonly keys: JWTVerifyGetKey } | undefined;

  return async (): Promise<JWTVerifyGetKey> => {
    const uri = p.jwksUri ?? (await metadata.get(p.issuer, 'oidc')).jwks_uri;
    if (uri === undefined) throw new AuthorizationError('invalid_metadata');
    if (last?.uri !== uri) last = { uri, keys: remoteKeys(uri, p.fetch) };
    return last.keys;
  };
}

function remoteKeys(uri: string, fetch: OutboundFetch): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(uri), {
    [customFetch]: (url, { headers, method, signal }) => fetch(url, { headers, method, signal }),
  });
}

/** jose reports an unavailable key set as a bare `JOSEError`, and faults of the token as a subclass. */
export function isAboutToken(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return error instanceof TypeError;
  return error.code !== 'ERR_JOSE_GENERIC' && error.code !== 'ERR_JWKS_TIMEOUT' && error.code !== 'ERR_JWKS_INVALID';
}
