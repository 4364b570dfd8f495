import { AuthorizationError, type AuthorizationErrorCode, OutboundError } from '@postern/authorization';
import { ProcessorError } from '@postern/payment';

/**
 * Reasons of failed outbound requests; `docs/failures.md` has a row for each code. `operator`: a configuration must change, here or at
 * the third party; `time`: a later attempt may succeed; `person`: only this attempt of the user failed.
 */
export const outboundFailureCodes = {
  unknown_host: 'operator',
  untrusted_certificate: 'operator',
  tls_failed: 'operator',
  proxy_refused: 'operator',
  blocked: 'operator',
  redirected: 'operator',
  too_large: 'operator',
  client_refused: 'operator',
  request_refused: 'operator',
  unusable_metadata: 'operator',
  invalid_answer: 'operator',
  invalid_claim: 'operator',
  name_lookup_failed: 'time',
  connection_refused: 'time',
  unreachable: 'time',
  proxy_failed: 'time',
  timeout: 'time',
  unavailable: 'time',
  attempt_refused: 'person',
} as const satisfies Record<string, 'operator' | 'time' | 'person'>;

export type OutboundFailureCode = keyof typeof outboundFailureCodes;

export interface OutboundFailure {
  readonly code: OutboundFailureCode;
  /** System or TLS code, OAuth error, `http_` and the status, or our own code for an invalid response. */
  readonly cause: string;
  /** Name of the invalid claim. */
  readonly claim?: string;
}

/** A request of an operation and its result so far. */
export interface Exchange {
  readonly host?: string;
  readonly status?: number;
  readonly error?: OutboundError;
}

/** Work at a third party, of one or more requests. */
export class Operation {
  last: Exchange = {};
  /** Requests without a usable response. The operation may have continued without them, for example at another URL. */
  readonly failed = new Map<Exchange, OutboundFailure>();
}

/** Returns the exchange that an error is about: the one that it names, which may belong to another operation, otherwise the last. */
export function exchangeOf(error: unknown, { last, failed }: Operation): Exchange {
  if (!(error instanceof AuthorizationError)) return last;
  const { outbound, status } = error;
  if (outbound === undefined && status === undefined) return last;
  const named = { host: outbound?.host, status, error: outbound };
  return [...failed.keys()].find(exchange => exchange.error === outbound && exchange.status === status) ?? named;
}

/**
 * Maps an error to the reason for the log. A new code in one of the packages does not compile without an entry here. Undefined if
 * the third party is not at fault, but the caller, the user or the gateway.
 */
export function outboundFailureOf(error: unknown, exchange: Exchange = {}): OutboundFailure | undefined {
  if (error instanceof OutboundError) return ofOutbound(error);
  if (error instanceof AuthorizationError) {
    if (error.outbound !== undefined) return ofOutbound(error.outbound);
    const code = byAuthorizationCode[error.code](error, exchange);
    if (code === undefined) return undefined;
    const cause = error.providerError ?? causeOf(exchange) ?? error.code;
    return { code, cause, claim: error.claim };
  }
  if (error instanceof ProcessorError) {
    if (error.code === 'signature_invalid') return undefined;
    if (exchange.error !== undefined) return ofOutbound(exchange.error);
    const status = error.processorStatus ?? exchange.status;
    const code = status === 401 || status === 403 ? 'client_refused' : byStatus({ status });
    return { code, cause: error.processorCode ?? causeOf({ status }) ?? error.code };
  }
  return undefined;
}

/** Returns the failure of an exchange whose error was not thrown. Undefined without a request. */
export function failedExchange({ error, status }: Exchange): OutboundFailure | undefined {
  if (error !== undefined) return ofOutbound(error);
  return status === undefined ? undefined : { code: byStatus({ status }), cause: `http_${status}` };
}

function ofOutbound(error: OutboundError): OutboundFailure {
  const { code, systemCode } = error;
  const unreachable = () => bySystemCode(systemCode ?? '');
  const codes = {
    outbound_blocked: () => 'blocked',
    outbound_redirect: () => 'redirected',
    outbound_timeout: () => 'timeout',
    outbound_too_large: () => 'too_large',
    outbound_unreachable: unreachable,
  } as const satisfies Record<OutboundError['code'], () => OutboundFailureCode>;
  return { code: codes[code](), cause: systemCode ?? code };
}

/** Codes of OpenSSL for untrusted certificates, and of Node for a wrong host name. */
const CERTIFICATE = /CERT|UNABLE_TO_(?:GET|VERIFY)_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED|CRL/;

function bySystemCode(code: string): OutboundFailureCode {
  if (code.startsWith('PROXY_')) return code.startsWith('PROXY_HTTP_4') ? 'proxy_refused' : 'proxy_failed';
  if (['ENOTFOUND', 'ENODATA', 'EAI_NONAME', 'EAI_NODATA'].includes(code)) return 'unknown_host';
  if (code.startsWith('EAI_')) return 'name_lookup_failed';
  if (code === 'ECONNREFUSED') return 'connection_refused';
  if (/^(?:ERR_SSL|EPROTO)/.test(code)) return 'tls_failed';
  return CERTIFICATE.test(code) ? 'untrusted_certificate' : 'unreachable';
}

/** Temporary refusals: a concurrent request with the same key, or rate limits. */
const PASSING: readonly number[] = [408, 409, 425, 429];

function byStatus({ status }: { readonly status?: number | undefined }): OutboundFailureCode {
  if (status === undefined || status >= 500 || PASSING.includes(status)) return 'unavailable';
  return status >= 400 ? 'request_refused' : 'invalid_answer';
}

const causeOf = ({ status }: { readonly status?: number | undefined }): string | undefined =>
  status === undefined || status < 400 ? undefined : `http_${status}`;

/** RFC 6749 section 5.2: errors of the registered client, independent of the user. */
const CLIENT_ERRORS: readonly string[] = ['invalid_client', 'unauthorized_client'];

type Judge = (error: AuthorizationError, exchange: Exchange) => OutboundFailureCode | undefined;

const notOutside: Judge = () => undefined;
const metadata: Judge = () => 'unusable_metadata';
const answer: Judge = ({ claim }, { status = 200 }) =>
  claim !== undefined ? 'invalid_claim' : status < 400 ? 'invalid_answer' : byStatus({ status });

const byAuthorizationCode: Record<AuthorizationErrorCode, Judge> = {
  access_denied: notOutside,
  client_gone: notOutside,
  dpop_unsupported: metadata,
  grant_refused: () => 'attempt_refused',
  invalid_access_token: notOutside,
  invalid_logout_token: notOutside,
  invalid_callback: notOutside,
  invalid_device_authorization: answer,
  invalid_id_token: answer,
  invalid_metadata: metadata,
  invalid_pushed_authorization: answer,
  invalid_registration: answer,
  invalid_revocation_response: answer,
  invalid_token_response: answer,
  invalid_userinfo: answer,
  issuer_mismatch: notOutside,
  issuer_not_allowed: notOutside,
  metadata_mismatch: metadata,
  outbound_blocked: () => 'blocked',
  outbound_redirect: () => 'redirected',
  outbound_too_large: () => 'too_large',
  par_unsupported: metadata,
  pkce_unsupported: metadata,
  provider_error: ({ providerError = '', retryable }) => {
    if (CLIENT_ERRORS.includes(providerError)) return 'client_refused';
    return retryable ? 'attempt_refused' : 'request_refused';
  },
  provider_unavailable: (_error, exchange) => byStatus(exchange),
  registration_refused: () => 'request_refused',
  registration_unavailable: metadata,
  resource_mismatch: metadata,
  resource_not_allowed: notOutside,
  resource_not_listed: metadata,
  scope_not_allowed: notOutside,
  state_mismatch: notOutside,
  too_late: notOutside,
};
