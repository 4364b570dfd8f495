import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import type { EndpointMetadata, ResolvedClient } from './client-registration.ts';
import { type DpopKey, dpopKeyPair } from './dpop.ts';
import { fromLibraryError } from './library-error.ts';
import type { OauthConfigurations, OauthOperation } from './oauth-configuration.ts';
import { guardTokenEndpoint, type IssuedTokens, type TokenEndpointRules } from './token-endpoint.ts';
import type { TokenResponseConfig } from './token-response-config.ts';

/** What the operations of the OAuth client share. */
export interface OauthTools {
  readonly configurations: OauthConfigurations;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface TokenGrant extends IssuedTokens {
  /** Claims of the ID token, signature verified. Undefined without an ID token. */
  readonly claims: client.IDToken | undefined;
}

/** What every token request may bring along. */
export interface TokenRequestOptions {
  /** The tokens are bound to it. Absent: bearer tokens. */
  readonly dpopKey?: DpopKey | undefined;
  /** How the answer differs from RFC 6749. */
  readonly tokenResponse?: TokenResponseConfig | undefined;
  /** Sent beside what the grant needs. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface GrantRequest extends TokenRequestOptions {
  readonly grantType: 'refresh_token' | 'urn:ietf:params:oauth:grant-type:device_code';
}

/**
 * Asks for tokens with a grant other than a code.
 *
 * The ID token of a refresh is left unread: nothing rests on it, and once the refresh token has been replaced, whatever goes
 * wrong afterwards (keys that cannot be read) would cost the user the whole grant.
 *
 * @throws {AuthorizationError} `grant_refused` for a refresh that ended the grant.
 */
export function requestTokens(tools: OauthTools, at: ResolvedClient, request: GrantRequest): Promise<TokenGrant> {
  const isRefresh = request.grantType === 'refresh_token';
  return guardedGrant(
    tools,
    at,
    { ...request, keepsIdToken: !isRefresh && canVerifyIdTokens(at.metadata), grantStands: isRefresh },
    ({ configuration, dpop }) =>
      client.genericGrantRequest(configuration, request.grantType, { ...request.parameters }, dpop),
  );
}

/** An ID token is proof only if we know who should have signed it and with which keys. */
export function canVerifyIdTokens(metadata: EndpointMetadata): boolean {
  return metadata.issuer !== undefined && metadata.jwks_uri !== undefined;
}

/** The one way to a token endpoint. */
export async function guardedGrant(
  { configurations, now }: OauthTools,
  at: ResolvedClient,
  p: TokenRequestOptions & Pick<TokenEndpointRules, 'keepsIdToken' | 'grantStands'>,
  grant: (operation: OauthOperation) => Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers>,
): Promise<TokenGrant> {
  const keyPair = p.dpopKey && (await dpopKeyPair(p.dpopKey));
  let issued: () => IssuedTokens | undefined = () => undefined;
  const wrap = (fetch: client.CustomFetch): client.CustomFetch => {
    const guarded = guardTokenEndpoint(
      {
        endpoint: at.metadata.token_endpoint,
        tokenType: keyPair === undefined ? 'bearer' : 'dpop',
        answers: p.tokenResponse,
        keepsIdToken: p.keepsIdToken,
        grantStands: p.grantStands,
      },
      fetch,
    );
    issued = guarded.issued;
    return guarded.fetch;
  };
  try {
    return await configurations.run(at, { keyPair, wrap }, async operation => {
      if (p.keepsIdToken) client.enableNonRepudiationChecks(operation.configuration);
      const claims = (await grant(operation)).claims();
      const tokens = issued();
      if (tokens === undefined) throw new AuthorizationError('invalid_token_response');
      if (claims !== undefined) assertRecent(claims, now());
      return { ...tokens, claims };
    });
  } catch (error) {
    // An answer that came this far passed parseTokenResponse; what the library refuses after that is the ID token.
    throw fromLibraryError(error, issued() === undefined ? 'invalid_token_response' : 'invalid_id_token');
  }
}

const maxIdTokenAgeSeconds = 600;
const clockToleranceSeconds = 30;

/** OpenID Connect Core 3.1.3.7 item 10: this ID token was asked for just now, so it was issued just now. */
function assertRecent(claims: client.IDToken, now: number): void {
  const age = now / 1000 - claims.iat;
  if (age > maxIdTokenAgeSeconds || age < -clockToleranceSeconds)
    throw new AuthorizationError('invalid_id_token', { claim: 'iat' });
}
