import { createRemoteJWKSet, customFetch, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { AuthorizationError, fromLibraryError } from './authorization-error.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { createMetadataCache } from './server-metadata.ts';
import { subjectFromClaims } from './user-claims.ts';

export interface AccessTokenVerifier {
  /**
   * Verifies a JWT access token (RFC 9068, also without its `typ`) that an MCP server received, and returns its subject.
   * Checks issuer, signature, `aud`, `exp` and `nbf`.
   *
   * @throws {AuthorizationError} `invalid_access_token`, `issuer_not_allowed`, or `provider_unavailable` and similar codes
   *   if the keys of the issuer cannot be fetched.
   */
  verify(
    token: string,
    p: {
      /** Issuers that the calling MCP server may name. */
      allowedIssuers: readonly string[];
      /** Audiences of the calling MCP server, in addition to those configured for the issuer. */
      audience?: string | readonly string[];
    },
  ): Promise<{ issuer: string; subject: string }>;
}

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

/** `typ` of access tokens; other kinds of JWT from the same keys (logout tokens, DPoP proofs …) name another. */
const types = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

const maxTokenLength = 16_384;
const clockToleranceSeconds = 30;

export function createAccessTokenVerifier(p: {
  identityProviders: readonly IdentityProviderConfig[];
  fetchFor: (identityProvider: IdentityProviderConfig) => OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Wraps verifications that may fetch the keys of an identity provider. */
  around?: <T>(identityProvider: IdentityProviderConfig, work: () => Promise<T>) => Promise<T>;
}): AccessTokenVerifier {
  const { around = (_identityProvider, work) => work() } = p;
  /** By issuer. */
  const known = new Map<string, () => Promise<JWTVerifyGetKey>>();

  function keys(config: IdentityProviderConfig): Promise<JWTVerifyGetKey> {
    const keysAt = known.get(config.issuer) ?? keysOf(config, { fetch: p.fetchFor(config), now: p.now });
    known.set(config.issuer, keysAt);
    return keysAt();
  }

  return {
    async verify(token, { allowedIssuers, audience = [] }) {
      const issuer = claimedIssuer(token);
      const config = p.identityProviders.find(candidate => candidate.issuer === issuer);
      if (config?.accessTokens === undefined || !allowedIssuers.includes(config.issuer)) {
        throw new AuthorizationError('issuer_not_allowed');
      }
      // Never accept the client id, whether configured or passed in: it is the audience of ID tokens, not of access tokens.
      const audiences = [config.accessTokens.audience ?? [], audience].flat().filter(name => name !== config.clientId);
      if (audiences.length === 0) throw new AuthorizationError('invalid_access_token');

      const verified = await around(config, async () =>
        jwtVerify(token, await keys(config), {
          issuer: config.issuer,
          audience: audiences,
          algorithms,
          clockTolerance: clockToleranceSeconds,
          currentDate: new Date(p.now()),
          requiredClaims: ['exp', 'iss', 'aud'],
        }).catch((error: unknown) => {
          throw fromLibraryError(error, isAboutToken(error) ? 'invalid_access_token' : 'provider_unavailable');
        }),
      );

      const type = verified.protectedHeader.typ?.toLowerCase();
      const subject = subjectFromClaims(verified.payload, config.accessTokens.subjectClaim ?? config.subjectClaim);
      if ((type !== undefined && !types.has(type)) || subject === undefined) {
        throw new AuthorizationError('invalid_access_token');
      }
      return { issuer: config.issuer, subject };
    },
  };
}

/** Returns the unverified `iss` of the token, only to look up the configuration. It is verified afterwards. */
function claimedIssuer(token: string): string | undefined {
  if (token.length > maxTokenLength) throw new AuthorizationError('invalid_access_token');
  try {
    return decodeJwt(token).iss;
  } catch {
    throw new AuthorizationError('invalid_access_token');
  }
}

/** Returns the keys of an identity provider, from its latest `jwks_uri`. */
function keysOf(config: IdentityProviderConfig, p: { fetch: OutboundFetch; now: () => number }) {
  const metadata = createMetadataCache(p);
  let last: { readonly uri: string; readonly keys: JWTVerifyGetKey } | undefined;

  return async (): Promise<JWTVerifyGetKey> => {
    const uri = config.accessTokens?.jwksUri ?? (await metadata.get(config.issuer, 'oidc')).jwks_uri;
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
function isAboutToken(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return error instanceof TypeError;
  return error.code !== 'ERR_JOSE_GENERIC' && error.code !== 'ERR_JWKS_TIMEOUT' && error.code !== 'ERR_JWKS_INVALID';
}
