import { AuthorizationError } from './authorization-error.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import { issuerNamed } from './issuer.ts';
import { claimedIssuer, hasTypeIn, jwtVerifierOf } from './issuer-keys.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { subjectFromClaims } from './user-claims.ts';

/** What a logout token ends: one session at the identity provider, or all sessions of a user there. */
export interface Logout {
  /** The configured issuer, or with `tenants` the issuer of the tenant. */
  readonly issuer: string;
  /** `sid` of the ended session. */
  readonly sessionId?: string;
  /** Absent if the token names only a session. */
  readonly subject?: string;
  /** Identifies the token. */
  readonly tokenId: string;
}

export interface LogoutTokenVerifier {
  /** @throws {AuthorizationError} `invalid_logout_token`, or `provider_unavailable` and similar codes without the keys of the issuer */
  verify(token: string): Promise<Logout>;
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Maximum age of a logout token, in seconds. Identity providers send it at once. */
export const MAX_LOGOUT_TOKEN_AGE_SECONDS = 300;
const MAX_TEXT = 512;
/** Explicit type, or none (OpenID Connect Back-Channel Logout 1.0 section 2.4). */
const types = new Set(['logout+jwt', 'application/logout+jwt', 'jwt']);

/** Verifies logout tokens of one identity provider (OpenID Connect Back-Channel Logout 1.0 section 2.6). */
export function createLogoutTokenVerifier(p: {
  identityProvider: IdentityProviderConfig;
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
}): LogoutTokenVerifier {
  const { identityProvider } = p;
  const { clientId, subjectClaim } = identityProvider;
  const verify = jwtVerifierOf({ ...p, refusal: 'invalid_logout_token' });
  const invalid = (claim?: string) =>
    new AuthorizationError('invalid_logout_token', claim === undefined ? {} : { claim });

  return {
    async verify(token) {
      // Before the keys are fetched: anyone may send a token.
      const claimed = claimedIssuer(token, 'invalid_logout_token');
      const issuer = issuerNamed(identityProvider, claimed);
      if (claimed === undefined || issuer === undefined) throw invalid('iss');
      const { payload, protectedHeader } = await verify(token, {
        issuer: claimed,
        audience: clientId,
        requiredClaims: ['iss', 'aud', 'iat', 'exp', 'jti', 'events'],
        maxTokenAge: MAX_LOGOUT_TOKEN_AGE_SECONDS,
      });
      if (!hasTypeIn(types, protectedHeader)) throw invalid('typ');
      // An ID token has a nonce, or lacks the event: neither is a logout token.
      if ('nonce' in payload) throw invalid('nonce');
      if (!isObject(payload['events']) || !isObject(payload['events'][EVENT])) throw invalid('events');
      const { jti, sub } = payload;
      const sid = payload['sid'];
      if (!isText(jti)) throw invalid('jti');
      if (sid !== undefined && !isText(sid)) throw invalid('sid');
      if (sub !== undefined && !isText(sub)) throw invalid('sub');
      const subject = subjectFromClaims(payload, subjectClaim);
      if (sid === undefined && subject === undefined) throw invalid(subjectClaim);
      return {
        issuer,
        tokenId: jti,
        ...(sid !== undefined && { sessionId: sid }),
        ...(subject !== undefined && { subject }),
      };
    },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= MAX_TEXT;
