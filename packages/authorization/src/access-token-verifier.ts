import { AuthorizationError } from './authorization-error.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import { issuerNamed } from './issuer.ts';
import { claimedIssuer, hasTypeIn, jwtVerifierOf } from './issuer-keys.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
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

/** `typ` of access tokens; other kinds of JWT from the same keys (logout tokens, DPoP proofs …) name another. */
const types = new Set(['at+jwt', 'application/at+jwt', 'jwt']);

export function createAccessTokenVerifier(p: {
  identityProviders: readonly IdentityProviderConfig[];
  fetchFor: (identityProvider: IdentityProviderConfig) => OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Wraps verifications that may fetch the keys of an identity provider. */
  around?: <T>(identityProvider: IdentityProviderConfig, work: () => Promise<T>) => Promise<T>;
}): AccessTokenVerifier {
  const { around = (_identityProvider, work) => work() } = p;
  /** By name: two identity providers may have one issuer with `{tenantid}`, for different tenants, and then different keys. */
  const known = new Map<string, ReturnType<typeof jwtVerifierOf>>();

  function verifierOf(identityProvider: IdentityProviderConfig) {
    const verify =
      known.get(identityProvider.name) ??
      jwtVerifierOf({
        identityProvider,
        jwksUri: identityProvider.accessTokens?.jwksUri,
        fetch: p.fetchFor(identityProvider),
        now: p.now,
        refusal: 'invalid_access_token',
      });
    known.set(identityProvider.name, verify);
    return verify;
  }

  return {
    async verify(token, { allowedIssuers, audience = [] }) {
      const claimed = claimedIssuer(token, 'invalid_access_token');
      const config = p.identityProviders.find(candidate => issuerNamed(candidate, claimed) !== undefined);
      const issuer = config && issuerNamed(config, claimed);
      const isAllowed = issuer !== undefined && allowedIssuers.includes(issuer);
      if (claimed === undefined || config?.accessTokens === undefined || !isAllowed) {
        throw new AuthorizationError('issuer_not_allowed');
      }
      // Never accept the client id, whether configured or passed in: it is the audience of ID tokens, not of access tokens.
      const audiences = [config.accessTokens.audience ?? [], audience].flat().filter(name => name !== config.clientId);
      if (audiences.length === 0) throw new AuthorizationError('invalid_access_token');

      const verified = await around(config, () =>
        verifierOf(config)(token, { issuer: claimed, audience: audiences, requiredClaims: ['exp', 'iss', 'aud'] }),
      );

      const subject = subjectFromClaims(verified.payload, config.accessTokens.subjectClaim ?? config.subjectClaim);
      if (!hasTypeIn(types, verified.protectedHeader) || subject === undefined) {
        throw new AuthorizationError('invalid_access_token');
      }
      return { issuer, subject };
    },
  };
}
