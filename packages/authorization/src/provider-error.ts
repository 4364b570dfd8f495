import { AuthorizationError } from './authorization-error.ts';

/**
 * Errors at the authorization, token and revocation endpoints (RFC 6749 4.1.2.1 and 5.2, RFC 7009 2.2.1, RFC 8628 3.5,
 * RFC 8707 2, RFC 9449 5 and 8, OpenID Connect Core 3.1.2.6).
 */
const registered: Record<string, { retryable: boolean }> = {
  account_selection_required: { retryable: true },
  authorization_pending: { retryable: true },
  consent_required: { retryable: true },
  expired_token: { retryable: true },
  interaction_required: { retryable: true },
  invalid_client: { retryable: false },
  invalid_dpop_proof: { retryable: false },
  // The code expired or was used before: a new authorization gets a new one.
  invalid_grant: { retryable: true },
  invalid_request: { retryable: false },
  invalid_scope: { retryable: false },
  invalid_target: { retryable: false },
  login_required: { retryable: true },
  request_not_supported: { retryable: false },
  request_uri_not_supported: { retryable: false },
  slow_down: { retryable: true },
  unauthorized_client: { retryable: false },
  unsupported_grant_type: { retryable: false },
  unsupported_response_type: { retryable: false },
  unsupported_token_type: { retryable: false },
  use_dpop_nonce: { retryable: true },
};

/**
 * The error for an OAuth error code sent by a provider. Only registered codes are repeated; descriptions and URIs are
 * the provider's (or an attacker's) free text and stay out.
 */
export function errorFromProvider(error: string): AuthorizationError {
  if (error === 'access_denied') return new AuthorizationError('access_denied', { providerError: error });
  if (error === 'server_error' || error === 'temporarily_unavailable') {
    return new AuthorizationError('provider_unavailable', { providerError: error });
  }
  const known = Object.hasOwn(registered, error) ? registered[error] : undefined;
  return known
    ? new AuthorizationError('provider_error', { providerError: error, retryable: known.retryable })
    : new AuthorizationError('provider_error', { providerError: 'unregistered' });
}
