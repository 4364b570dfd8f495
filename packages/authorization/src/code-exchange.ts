import * as client from 'openid-client';
import type { ResolvedClient } from './client-registration.ts';
import {
  canVerifyIdTokens,
  guardedGrant,
  type OauthTools,
  type TokenGrant,
  type TokenRequestOptions,
} from './token-request.ts';

export interface CodeGrantRequest extends TokenRequestOptions {
  readonly code: string;
  readonly redirectUri: URL;
  /** Absent only where the provider knows no PKCE. */
  readonly codeVerifier?: string | undefined;
  /** Set when an ID token is expected: it must be there and carry this nonce. */
  readonly nonce?: string | undefined;
  /** Oldest accepted authentication, in seconds. */
  readonly maxAge?: number | undefined;
}

/** Exchanges an authorization code (RFC 6749 section 4.1.3). @throws {AuthorizationError} */
export function exchangeCode(tools: OauthTools, at: ResolvedClient, request: CodeGrantRequest): Promise<TokenGrant> {
  const { code, redirectUri, codeVerifier, nonce, maxAge, parameters } = request;
  const callback = new URL(redirectUri);
  callback.searchParams.set('code', code);
  return guardedGrant(
    tools,
    at,
    // One that was asked for without a nonce could come from any other authorization.
    { ...request, keepsIdToken: nonce !== undefined && canVerifyIdTokens(at.metadata), grantStands: false },
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
