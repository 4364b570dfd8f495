import * as client from 'openid-client';
import { isNonceChallenge } from './dpop.ts';
import { OutboundError } from './outbound/outbound-policy.ts';

/**
 * The stable error codes of this package.
 *
 * - `access_denied`: the user refused at the provider.
 * - `provider_error`: the provider returned an OAuth error; see `providerError`.
 * - `grant_refused`: the provider no longer accepts the refresh token, and the user must authorize again. Other refusals of a refresh
 *   have `refuses`.
 * - `client_gone`: the client that the grant was issued to is no longer configured, or its registration or key is missing.
 * - `too_late`: the caller of a refresh could no longer wait for it; nothing was sent.
 * - `provider_unavailable`: the provider was unreachable, too slow, or answered 408, 425, 429 or 5xx.
 * - `invalid_callback`: the callback has missing, repeated or contradicting parameters.
 * - `state_mismatch`, `issuer_mismatch`: the callback belongs to another transaction or another issuer (RFC 9207).
 * - `invalid_token_response`, `invalid_id_token`, `invalid_userinfo`, `invalid_pushed_authorization`,
 *   `invalid_revocation_response`: the provider's response is invalid.
 * - `invalid_metadata`, `metadata_mismatch`, `pkce_unsupported`: the provider's metadata cannot be used, names another
 *   issuer, or does not offer PKCE with S256.
 * - `par_unsupported`, `dpop_unsupported`: pushed authorization requests are required but not offered; DPoP is required but
 *   offered for other algorithms only.
 * - `resource_mismatch`: the metadata of a remote MCP server names another resource (RFC 9728).
 * - `resource_not_listed`: the authorization server of a remote MCP server lists its resources, but not this one.
 * - `registration_unavailable`, `registration_refused`, `invalid_registration`: the authorization server offers no usable
 *   registration, refused to register a client, or registered a client that differs from the request (RFC 7591).
 * - `invalid_device_authorization`: the response of the device authorization endpoint is invalid (RFC 8628).
 * - `scope_not_allowed`, `resource_not_allowed`: the configuration does not allow this scope or resource.
 * - `invalid_logout_token`: a back-channel logout was refused.
 * - `invalid_access_token`, `issuer_not_allowed`: an MCP access token was refused.
 * - `outbound_…`: the outbound policy stopped the request.
 */
export type AuthorizationErrorCode =
  | 'access_denied'
  | 'client_gone'
  | 'dpop_unsupported'
  | 'grant_refused'
  | 'invalid_access_token'
  | 'invalid_callback'
  | 'invalid_device_authorization'
  | 'invalid_id_token'
  | 'invalid_logout_token'
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
  | 'resource_not_listed'
  | 'scope_not_allowed'
  | 'state_mismatch'
  | 'too_late';

interface Meaning {
  readonly message: string;
  /** Whether the same user can succeed by starting again, without a change of configuration. */
  readonly retryable: boolean;
}

const meanings: Record<AuthorizationErrorCode, Meaning> = {
  access_denied: { message: 'Access was denied at the provider', retryable: false },
  client_gone: { message: 'The client that the grant was issued to is no longer available', retryable: true },
  dpop_unsupported: { message: 'The authorization server does not offer DPoP with ES256', retryable: false },
  grant_refused: { message: 'The provider no longer accepts the refresh token', retryable: false },
  invalid_logout_token: { message: 'The logout token is not valid', retryable: false },
  invalid_access_token: { message: 'The access token is not valid', retryable: false },
  invalid_callback: { message: 'The callback is not a valid authorization response', retryable: false },
  invalid_device_authorization: {
    message: 'The device authorization endpoint returned an invalid response',
    retryable: true,
  },
  invalid_id_token: { message: 'The ID token is not valid', retryable: false },
  invalid_metadata: { message: 'The metadata of the authorization server is missing or invalid', retryable: false },
  invalid_pushed_authorization: {
    message: 'The pushed authorization request endpoint returned an invalid response',
    retryable: true,
  },
  invalid_registration: { message: 'The registration endpoint returned an invalid response', retryable: false },
  invalid_revocation_response: { message: 'The revocation endpoint returned an invalid response', retryable: true },
  invalid_token_response: { message: 'The token endpoint returned an invalid response', retryable: true },
  invalid_userinfo: { message: 'The userinfo endpoint returned an invalid response', retryable: true },
  issuer_mismatch: { message: 'The authorization response comes from another issuer', retryable: false },
  issuer_not_allowed: { message: 'The issuer of the access token is not allowed', retryable: false },
  metadata_mismatch: { message: 'The metadata names another issuer than the configuration', retryable: false },
  outbound_blocked: { message: 'The outbound policy does not allow this request', retryable: false },
  outbound_redirect: { message: 'The provider returned a redirect', retryable: false },
  outbound_too_large: { message: 'The response of the provider is too large', retryable: false },
  par_unsupported: {
    message: 'The authorization server does not support pushed authorization requests',
    retryable: false,
  },
  pkce_unsupported: { message: 'The authorization server does not offer PKCE with S256', retryable: false },
  provider_error: { message: 'The provider returned an error', retryable: true },
  provider_unavailable: { message: 'The provider is not available', retryable: true },
  registration_refused: { message: 'The authorization server refused to register Postern', retryable: false },
  registration_unavailable: {
    message: 'The authorization server does not support a registration that Postern can use',
    retryable: false,
  },
  resource_mismatch: { message: 'The metadata of the resource describes another resource', retryable: false },
  resource_not_allowed: { message: 'The configuration does not allow this resource', retryable: false },
  resource_not_listed: {
    message: 'The resource names an authorization server that does not list the resource',
    retryable: false,
  },
  scope_not_allowed: { message: 'The configuration does not allow a requested scope', retryable: false },
  state_mismatch: { message: 'The authorization response belongs to another transaction', retryable: false },
  too_late: { message: 'The time to send the request has passed', retryable: true },
};

/** `unclear`: the grant or the client. A 401 without a word for either; RFC 6749 section 5.2 means the client by it. */
export type Refused = 'grant' | 'client' | 'unclear';

export type AuthorizationErrorDetails = Partial<
  Pick<AuthorizationError, 'retryable' | 'providerError' | 'outbound' | 'status' | 'claim' | 'confirmed' | 'refuses'>
>;

/**
 * The error of this package. Its message is fixed per code, and it never has a `cause`: errors of the underlying libraries
 * contain codes, states, verifiers and tokens in their fields and causes.
 */
export class AuthorizationError extends Error {
  override readonly name = 'AuthorizationError';
  readonly code: AuthorizationErrorCode;
  readonly retryable: boolean;
  /** The OAuth error code of the provider if it is registered, otherwise `unregistered`. */
  readonly providerError?: string;
  /** The outbound failure that caused this error. */
  readonly outbound?: OutboundError;
  /** HTTP status of the response that caused this error, if it may not be the last one. */
  readonly status?: number;
  /** Name of the invalid claim, from the configuration or from the specification of ID tokens; never its value. */
  readonly claim?: string;
  /** The token that the provider revoked before the revocation of the other token failed. */
  readonly confirmed?: 'refresh_token' | 'access_token';
  /** What a refresh without `grant_refused` was refused for. Absent if the response says nothing definite. */
  readonly refuses?: Refused;

  constructor(code: AuthorizationErrorCode, details: AuthorizationErrorDetails = {}) {
    super(meanings[code].message);
    this.code = code;
    this.retryable = details.retryable ?? meanings[code].retryable;
    if (details.providerError !== undefined) this.providerError = details.providerError;
    if (details.outbound !== undefined) this.outbound = details.outbound;
    if (details.status !== undefined) this.status = details.status;
    if (details.claim !== undefined) this.claim = details.claim;
    if (details.confirmed !== undefined) this.confirmed = details.confirmed;
    if (details.refuses !== undefined) this.refuses = details.refuses;
  }
}

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
  // The code has expired or was used: a new authorization yields a new code.
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
 * Converts an OAuth error code of a provider to an error. Only registered codes are kept. Descriptions and URIs are free text
 * of the provider (or an attacker) and are dropped.
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

/**
 * Converts errors of openid-client, oauth4webapi, jose and the guarded fetch to an `AuthorizationError`, which contains
 * nothing of the original (parameters, bodies, tokens, responses).
 *
 * @param fallback the code if the library itself rejected the response
 */
export function fromLibraryError(error: unknown, fallback: AuthorizationErrorCode): AuthorizationError {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof AuthorizationError) return link;
    if (link instanceof OutboundError) return fromOutboundError(link);
  }
  if (error instanceof client.ResponseBodyError) return errorFromProvider(error.error);
  // The library reports a challenge before the body. Our code handles every other one, so this is a second nonce challenge, or nothing
  // that names a fault: a page of a proxy.
  if (error instanceof client.WWWAuthenticateChallengeError && isNonceChallenge(error.response, ''))
    return errorFromProvider('use_dpop_nonce');
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

/** Reads the invalid claim from the message of oauth4webapi, which quotes it there, and sometimes only there. */
function claimIn(error: unknown): string | undefined {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    const { message } = link;
    const claim = checkedClaims.find(name => message.includes(`"${name}"`));
    if (claim !== undefined) return claim;
    if (message.startsWith('too much time has elapsed since the last End-User')) return 'auth_time';
  }
  return undefined;
}
