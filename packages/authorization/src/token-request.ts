import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { AuthorizationError, fromLibraryError } from './authorization-error.ts';
import type { ResolvedClient } from './client-registration.ts';
import { type DpopKey, dpopKeyPair } from './dpop.ts';
import { issuersOf } from './issuer.ts';
import { isSignedFor } from './issuer-keys.ts';
import type { OauthClient, OauthOperation } from './oauth-client.ts';
import type { EndpointMetadata } from './server-metadata.ts';
import {
  assertRecent,
  guardTokenEndpoint,
  type IssuedTokens,
  type TokenEndpointRules,
  type TokenResponseConfig,
} from './token-response.ts';

export interface TokenGrant extends IssuedTokens {
  /** Claims of the ID token, signature verified. Undefined without an ID token. */
  readonly claims: client.IDToken | undefined;
}

/** Options of every token request. */
export interface TokenRequestOptions {
  /** Binds the tokens to this key. Without it, they are bearer tokens. */
  readonly dpopKey?: DpopKey | undefined;
  /** How the response differs from RFC 6749. */
  readonly tokenResponse?: TokenResponseConfig | undefined;
  /** Additional parameters. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface GrantRequest extends TokenRequestOptions {
  readonly grantType: 'refresh_token' | 'urn:ietf:params:oauth:grant-type:device_code';
}

/**
 * Requests tokens with a refresh token or a device code. Sends one request, and a second one only for a DPoP nonce.
 *
 * Ignores the ID token of a refresh. Nothing depends on it, and an error while verifying it would lose the new refresh token,
 * and with it the grant.
 *
 * @throws {AuthorizationError} `grant_refused` if the provider no longer accepts the refresh token.
 */
export function requestTokens(
  oauthClient: OauthClient,
  at: ResolvedClient,
  request: GrantRequest,
): Promise<TokenGrant> {
  const isRefresh = request.grantType === 'refresh_token';
  return guardedGrant(
    oauthClient,
    at,
    { ...request, keepsIdToken: !isRefresh && canVerifyIdTokens(at.metadata), isRefresh },
    ({ configuration, dpop }) =>
      client.genericGrantRequest(configuration, request.grantType, { ...request.parameters }, dpop),
  );
}

/** Whether issuer and keys are known, without which an ID token proves nothing. */
export function canVerifyIdTokens(metadata: EndpointMetadata): boolean {
  return issuersOf(metadata).length > 0 && metadata.jwks_uri !== undefined;
}

/** Sends a token request and validates the response. Every token request goes through here. */
async function guardedGrant(
  oauthClient: OauthClient,
  at: ResolvedClient,
  p: TokenRequestOptions & Pick<TokenEndpointRules, 'keepsIdToken' | 'isRefresh'>,
  grant: (operation: OauthOperation) => Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers>,
): Promise<TokenGrant> {
  const keyPair = p.dpopKey && (await dpopKeyPair(p.dpopKey));
  let issued: () => IssuedTokens | undefined = () => undefined;
  const wrap = (fetch: client.CustomFetch): client.CustomFetch => {
    const guarded = guardTokenEndpoint(
      {
        endpoint: at.metadata.token_endpoint,
        tokenType: keyPair === undefined ? 'bearer' : 'dpop',
        tokenResponse: p.tokenResponse,
        keepsIdToken: p.keepsIdToken,
        isRefresh: p.isRefresh,
      },
      fetch,
    );
    issued = guarded.issued;
    return guarded.fetch;
  };
  try {
    return await oauthClient.run(at, { keyPair, wrap }, async operation => {
      if (p.keepsIdToken) client.enableNonRepudiationChecks(operation.configuration);
      const claims = (await grant(operation)).claims();
      const tokens = issued();
      if (tokens === undefined) throw new AuthorizationError('invalid_token_response');
      if (claims !== undefined) {
        assertRecent(claims, oauthClient.now());
        const { kid } = decodeProtectedHeader(tokens.response.id_token ?? '');
        const keys = client.getJwksCache(operation.configuration)?.jwks.keys ?? [];
        // For a template, the library accepts the issuer of any tenant.
        const isAllowed = issuersOf(at.metadata).includes(claims.iss);
        if (!isAllowed || !isSignedFor(claims.iss, { kid, keys, tenants: at.metadata.tenants }))
          throw new AuthorizationError('invalid_id_token', { claim: 'iss' });
      }
      return { ...tokens, claims };
    });
  } catch (error) {
    // After guardTokenEndpoint has accepted the response, the library can only reject the ID token.
    throw fromLibraryError(error, issued() === undefined ? 'invalid_token_response' : 'invalid_id_token');
  }
}

export interface CodeGrantRequest extends TokenRequestOptions {
  readonly code: string;
  readonly redirectUri: URL;
  /** Absent only if the provider does not support PKCE. */
  readonly codeVerifier?: string | undefined;
  /** If set, the response must contain an ID token with this nonce. */
  readonly nonce?: string | undefined;
  /** Maximum age of the authentication, in seconds. */
  readonly maxAge?: number | undefined;
}

/**
 * Exchanges an authorization code (RFC 6749 section 4.1.3). Sends one request, and a second one only for a DPoP nonce: a code can
 * be used once, and a request whose response was lost may have succeeded.
 *
 * @throws {AuthorizationError}
 */
export function exchangeCode(
  oauthClient: OauthClient,
  at: ResolvedClient,
  request: CodeGrantRequest,
): Promise<TokenGrant> {
  const { code, redirectUri, codeVerifier, nonce, maxAge, parameters } = request;
  const callback = new URL(redirectUri);
  callback.searchParams.set('code', code);
  return guardedGrant(
    oauthClient,
    at,
    // An ID token without a nonce could come from any other authorization.
    { ...request, keepsIdToken: nonce !== undefined && canVerifyIdTokens(at.metadata), isRefresh: false },
    ({ configuration, dpop }) =>
      client.authorizationCodeGrant(
        configuration,
        callback,
        {
          ...(codeVerifier !== undefined && { pkceCodeVerifier: codeVerifier }),
          ...(nonce !== undefined && { expectedNonce: nonce, idTokenExpected: true }),
          ...(maxAge !== undefined && { maxAge }),
        },
        { ...parameters },
        dpop,
      ),
  );
}
