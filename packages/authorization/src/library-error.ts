import * as client from 'openid-client';
import { AuthorizationError, type AuthorizationErrorCode } from './authorization-error.ts';
import { OutboundError } from './outbound-error.ts';
import { errorFromProvider } from './provider-error.ts';

/**
 * Turns whatever openid-client, oauth4webapi, jose or the guarded fetch threw into an `AuthorizationError`, once, so
 * that nothing of the original (parameters, bodies, tokens, responses) travels further.
 *
 * @param fallback what it means at this place when the library refused the answer itself.
 */
export function fromLibraryError(error: unknown, fallback: AuthorizationErrorCode): AuthorizationError {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof AuthorizationError) return link;
    if (link instanceof OutboundError) return fromOutboundError(link);
  }
  if (error instanceof client.ResponseBodyError) return errorFromProvider(error.error);
  if (error instanceof client.WWWAuthenticateChallengeError) return errorFromProvider('invalid_client');
  const claim = fallback === 'invalid_id_token' ? claimIn(error) : undefined;
  return new AuthorizationError(fallback, claim === undefined ? {} : { claim });
}

function fromOutboundError(error: OutboundError): AuthorizationError {
  switch (error.code) {
    case 'outbound_timeout':
    case 'outbound_unreachable':
      return new AuthorizationError('provider_unavailable', { outbound: error });
    default:
      return new AuthorizationError(error.code, { outbound: error });
  }
}

/** Claims of an ID token that oauth4webapi checks. */
const checkedClaims = ['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'auth_time', 'nonce', 'azp'];

/** oauth4webapi names the claim at fault in its message, in quotes, and nowhere else if the claim is missing or of another type. */
function claimIn(error: unknown): string | undefined {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    const { message } = link;
    const claim = checkedClaims.find(name => message.includes(`"${name}"`));
    if (claim !== undefined) return claim;
    if (message.startsWith('too much time has elapsed since the last End-User')) return 'auth_time';
  }
  return undefined;
}
