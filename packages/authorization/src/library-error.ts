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
  return new AuthorizationError(fallback);
}

function fromOutboundError(error: OutboundError): AuthorizationError {
  switch (error.code) {
    case 'outbound_timeout':
    case 'outbound_unreachable':
      return new AuthorizationError('provider_unavailable');
    default:
      return new AuthorizationError(error.code);
  }
}
