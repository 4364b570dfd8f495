import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import { AuthorizationError, type AuthorizationErrorCode, fromLibraryError } from './authorization-error.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import { isSignedFor } from './issuer.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { createMetadataCache } from './server-metadata.ts';

/** Asymmetric signatures only. Never `none`, and never HMAC, which would take a public key as secret. */
const algorithms = [
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
const clockToleranceSeconds = 30;

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

/**
 * Returns a function that verifies JWTs of an identity provider with the keys from `jwksUri` or its latest `jwks_uri`. The issuer is one
 * of its issuers, as {@link claimedIssuer} returned it.
 * @param p.refusal the error code for an invalid token
 */
export function jwtVerifierOf(p: {
  identityProvider: IdentityProviderConfig;
  jwksUri?: string | undefined;
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
  refusal: AuthorizationErrorCode;
}) {
  const { identityProvider, refusal } = p;
  const metadata = createMetadataCache(p);
  let last: { readonly uri: string; readonly keys: ReturnType<typeof remoteKeys> } | undefined;

  async function latestKeys() {
    const uri = p.jwksUri ?? (await metadata.get(identityProvider)).jwks_uri;
    if (uri === undefined) throw new AuthorizationError('invalid_metadata');
    if (last?.uri !== uri) last = { uri, keys: remoteKeys(uri, p.fetch) };
    return last.keys;
  }

  return async (token: string, options: JWTVerifyOptions & { readonly issuer: string }): Promise<JWTVerifyResult> => {
    const keys = await latestKeys();
    const verified = await jwtVerify(token, keys, {
      algorithms,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(p.now()),
      ...options,
    }).catch((error: unknown) => {
      throw fromLibraryError(error, isAboutToken(error) ? refusal : 'provider_unavailable');
    });
    const key = { kid: verified.protectedHeader.kid, keys: keys.jwks()?.keys ?? [], tenants: identityProvider.tenants };
    if (!isSignedFor(options.issuer, key)) throw new AuthorizationError(refusal);
    return verified;
  };
}

function remoteKeys(uri: string, fetch: OutboundFetch) {
  return createRemoteJWKSet(new URL(uri), {
    [customFetch]: (url, { headers, method, signal }) => fetch(url, { headers, method, signal }),
  });
}

/** jose reports an unavailable key set as a bare `JOSEError`, and faults of the token as a subclass. */
function isAboutToken(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return error instanceof TypeError;
  return error.code !== 'ERR_JOSE_GENERIC' && error.code !== 'ERR_JWKS_TIMEOUT' && error.code !== 'ERR_JWKS_INVALID';
}
