import { createHash, timingSafeEqual } from 'node:crypto';
import { AuthorizationError, errorFromProvider } from './authorization-error.ts';
import { issuersOf } from './issuer.ts';

/** The recorded values of the start, and the callback to check against them. */
export interface CallbackExpectations {
  /** The URL the browser requested, with the public origin (never taken from `Host`). */
  readonly callbackUrl: URL;
  readonly redirectUri: URL;
  readonly state: string;
  /** Issuer of the authorization server; undefined only if the operator configured endpoints without an issuer. */
  readonly expectedIssuer: string | undefined;
  /** The allowed tenants of an issuer with `{tenantid}`. */
  readonly tenants?: readonly string[] | undefined;
  /** Whether an absent `iss` is an error: the authorization server advertises it, or the operator requires it. */
  readonly issRequired: boolean;
  /** Names of additional parameters to return. */
  readonly callbackMembers?: readonly string[];
}

export interface ValidatedCallback {
  readonly code: string;
  /** The additional parameters that the callback has. The browser can change them, unlike the code. */
  readonly callbackMembers?: Readonly<Record<string, string>>;
}

/** RFC 6749 appendix A.11 and A.12: visible ASCII. */
const visibleAscii = /^[\x20-\x7e]+$/;
const maxCodeLength = 8192;
/** Additional parameters are ids or URLs. Any other value is left out. */
const keptValue = /^[\x21-\x7e]{1,200}$/;

/**
 * Checks an authorization response without network access and returns its code, which is not exchanged yet.
 *
 * The order matters: check that the response belongs to this transaction and this issuer before reading anything else. After
 * a mismatch, expose nothing of an error response (RFC 9207 section 2.4).
 *
 * Without a known issuer, `iss` cannot be compared. The redirect URI, which belongs to one provider only, then prevents a
 * mix-up (RFC 9700 section 4.4.2.2).
 *
 * @throws {AuthorizationError} `invalid_callback`, `state_mismatch`, `issuer_mismatch`, `access_denied`,
 *   `provider_error`, `provider_unavailable`.
 */
export function validateCallback(p: CallbackExpectations): ValidatedCallback {
  const parameters = singleParameters(p.callbackUrl.searchParams);
  const { code, error, iss, state } = parameters;

  if (p.callbackUrl.origin !== p.redirectUri.origin || p.callbackUrl.pathname !== p.redirectUri.pathname) {
    throw new AuthorizationError('invalid_callback');
  }
  if (state === undefined) throw new AuthorizationError('invalid_callback');
  if (!sameText(state, p.state)) throw new AuthorizationError('state_mismatch');

  const { expectedIssuer: issuer, tenants } = p;
  if (iss === undefined ? p.issRequired : issuer !== undefined && !issuersOf({ issuer, tenants }).includes(iss)) {
    throw new AuthorizationError('issuer_mismatch');
  }

  if (error !== undefined) {
    if (code !== undefined || error === '') throw new AuthorizationError('invalid_callback');
    throw errorFromProvider(error);
  }
  if (code === undefined || code.length > maxCodeLength || !visibleAscii.test(code)) {
    throw new AuthorizationError('invalid_callback');
  }
  const kept = (p.callbackMembers ?? []).flatMap(name => {
    const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    return value !== undefined && keptValue.test(value) ? [[name, value] as const] : [];
  });
  return { code, ...(kept.length > 0 && { callbackMembers: Object.fromEntries(kept) }) };
}

/** Parses the query. Refuses duplicate parameters (RFC 6749 section 3.1) and parameters of other flows. */
function singleParameters(query: URLSearchParams): Partial<Record<string, string>> {
  const parameters = new Map<string, string>();
  for (const [name, value] of query) {
    if (parameters.has(name)) throw new AuthorizationError('invalid_callback');
    parameters.set(name, value);
  }
  for (const foreign of ['response', 'id_token', 'access_token', 'token']) {
    if (parameters.has(foreign)) throw new AuthorizationError('invalid_callback');
  }
  return Object.fromEntries(parameters);
}

/** Compares two texts in constant time. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
