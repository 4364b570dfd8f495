import type { OutboundError } from './outbound-error.ts';

/**
 * Every stable error code of this package.
 *
 * - `access_denied`: the user said no at the provider.
 * - `provider_error`: the provider answered with an OAuth error; see `providerError`.
 * - `grant_refused`: the provider no longer accepts the refresh token; only its user can begin anew.
 * - `provider_unavailable`: the provider was unreachable, too slow, or answered 429 or 5xx.
 * - `invalid_callback`: the callback is not one a provider sends (missing, repeated or contradicting parameters).
 * - `state_mismatch`, `issuer_mismatch`: the callback belongs to another transaction or another issuer (RFC 9207).
 * - `invalid_token_response`, `invalid_id_token`, `invalid_userinfo`, `invalid_pushed_authorization`,
 *   `invalid_revocation_response`: the provider's answer broke its contract.
 * - `invalid_metadata`, `metadata_mismatch`, `pkce_unsupported`: the provider's metadata cannot be used, names another
 *   issuer, or does not offer PKCE with S256.
 * - `par_unsupported`, `dpop_unsupported`: pushed authorization requests are required and not offered; DPoP is required and
 *   offered for other algorithms only.
 * - `resource_mismatch`: the metadata of a remote MCP server speaks of another resource (RFC 9728).
 * - `registration_unavailable`, `registration_refused`, `invalid_registration`: Postern has no client at the authorization
 *   server and there is no way to get one, it was refused one, or was given one that is not what it asked for (RFC 7591).
 * - `invalid_device_authorization`: the answer of the device authorization endpoint broke its contract (RFC 8628).
 * - `scope_not_allowed`, `resource_not_allowed`: not among what the configuration allows to ask for.
 * - `invalid_access_token`, `issuer_not_allowed`: an MCP access token was refused.
 * - `outbound_…`: the outbound policy stopped the request.
 */
export type AuthorizationErrorCode =
  | 'access_denied'
  | 'dpop_unsupported'
  | 'grant_refused'
  | 'invalid_access_token'
  | 'invalid_callback'
  | 'invalid_device_authorization'
  | 'invalid_id_token'
  | 'invalid_metadata'
  | 'invalid_pushed_authorization'
  | 'invalid_registration'
  | 'invalid_revocation_response'
  | 'invalid_token_response'
  | 'invalid_userinfo'
  | 'issuer_mismatch'
  | 'issuer_not_allowed'
  | 'metadata_mismatch'
  | 'outbound_blocked'
  | 'outbound_redirect'
  | 'outbound_too_large'
  | 'par_unsupported'
  | 'pkce_unsupported'
  | 'provider_error'
  | 'provider_unavailable'
  | 'registration_refused'
  | 'registration_unavailable'
  | 'resource_mismatch'
  | 'resource_not_allowed'
  | 'scope_not_allowed'
  | 'state_mismatch';

interface Meaning {
  readonly message: string;
  /** Whether the same person starting again may succeed without anybody changing the configuration. */
  readonly retryable: boolean;
}

const meanings: Record<AuthorizationErrorCode, Meaning> = {
  access_denied: { message: 'Access was denied at the provider', retryable: false },
  dpop_unsupported: { message: 'The authorization server does not offer DPoP with ES256', retryable: false },
  grant_refused: { message: 'The provider no longer accepts the refresh token', retryable: false },
  invalid_access_token: { message: 'The access token is not valid', retryable: false },
  invalid_callback: { message: 'The callback is not a valid authorization response', retryable: false },
  invalid_device_authorization: {
    message: 'The device authorization endpoint gave an invalid answer',
    retryable: true,
  },
  invalid_id_token: { message: 'The ID token is not valid', retryable: false },
  invalid_metadata: { message: 'The metadata of the authorization server cannot be used', retryable: false },
  invalid_pushed_authorization: {
    message: 'The pushed authorization request endpoint gave an invalid answer',
    retryable: true,
  },
  invalid_registration: { message: 'The registration endpoint gave an invalid answer', retryable: false },
  invalid_revocation_response: { message: 'The revocation endpoint gave an invalid answer', retryable: true },
  invalid_token_response: { message: 'The token endpoint gave an invalid answer', retryable: true },
  invalid_userinfo: { message: 'The userinfo endpoint gave an invalid answer', retryable: true },
  issuer_mismatch: { message: 'The authorization response comes from another issuer', retryable: false },
  issuer_not_allowed: { message: 'The issuer of the access token is not allowed', retryable: false },
  metadata_mismatch: { message: 'The metadata names another issuer than the configuration', retryable: false },
  outbound_blocked: { message: 'The outbound policy does not allow this request', retryable: false },
  outbound_redirect: { message: 'The provider answered with a redirect', retryable: false },
  outbound_too_large: { message: 'The answer of the provider is too large', retryable: false },
  par_unsupported: { message: 'The authorization server takes no pushed authorization requests', retryable: false },
  pkce_unsupported: { message: 'The authorization server does not offer PKCE with S256', retryable: false },
  provider_error: { message: 'The provider answered with an error', retryable: true },
  provider_unavailable: { message: 'The provider is not available', retryable: true },
  registration_refused: { message: 'The authorization server refused to register Postern', retryable: false },
  registration_unavailable: { message: 'The authorization server offers no way to register Postern', retryable: false },
  resource_mismatch: { message: 'The metadata of the resource speaks of another resource', retryable: false },
  resource_not_allowed: { message: 'The resource is not among the configured ones', retryable: false },
  scope_not_allowed: { message: 'A scope is not among the configured ones', retryable: false },
  state_mismatch: { message: 'The authorization response belongs to another transaction', retryable: false },
};

export const authorizationErrorCodes = Object.keys(meanings) as readonly AuthorizationErrorCode[];

export type AuthorizationErrorDetails = Partial<
  Pick<AuthorizationError, 'retryable' | 'providerError' | 'outbound' | 'claim'>
>;

/**
 * The error of this package. Its text is fixed per code and it never has a `cause`: the errors of the libraries below
 * carry codes, states, verifiers and tokens in their own fields and causes.
 */
export class AuthorizationError extends Error {
  override readonly name = 'AuthorizationError';
  readonly code: AuthorizationErrorCode;
  readonly retryable: boolean;
  /** The registered OAuth error code the provider sent; `unregistered` for any other text. */
  readonly providerError?: string;
  /** The outbound failure behind it. */
  readonly outbound?: OutboundError;
  /** Name of the claim at fault, from the configuration or from the specification of ID tokens; never its value. */
  readonly claim?: string;

  constructor(code: AuthorizationErrorCode, details: AuthorizationErrorDetails = {}) {
    super(meanings[code].message);
    this.code = code;
    this.retryable = details.retryable ?? meanings[code].retryable;
    if (details.providerError !== undefined) this.providerError = details.providerError;
    if (details.outbound !== undefined) this.outbound = details.outbound;
    if (details.claim !== undefined) this.claim = details.claim;
  }
}
