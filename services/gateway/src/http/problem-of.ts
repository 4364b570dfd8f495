import { type ProblemCode, problems } from '@postern/api';
import { DomainError, type DomainErrorCode, QuotaExceededError, TooManyElicitationsError } from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import { errorCodes } from 'fastify';
import { ProblemError } from './problem-error.ts';

export interface Problem {
  readonly code: ProblemCode;
  readonly status: number;
  readonly retryAfterMs?: number;
  readonly errors?: readonly { path: string; message: string }[];
  readonly provider?: string;
}

/** The one map from the domain's refusals to what a caller sees. Adding a code without deciding here does not compile. */
const byDomainCode: Record<DomainErrorCode, ProblemCode> = {
  not_found: 'not_found',
  wrong_person: 'wrong_person',
  illegal_transition: 'illegal_transition',
  already_ended: 'already_ended',
  request_changed: 'request_changed',
  unknown_provider: 'unknown_provider',
  provider_not_allowed: 'provider_not_allowed',
  kind_not_allowed: 'kind_not_allowed',
  issuer_not_allowed: 'issuer_not_allowed',
  return_url_not_registered: 'return_url_not_registered',
  identity_mode_mismatch: 'identity_mode_mismatch',
  verification_unknown: 'verification_unknown',
  reauthorization_required: 'reauthorization_required',
  processor_not_allowed: 'processor_not_allowed',
  currency_not_allowed: 'currency_not_allowed',
  amount_over_limit: 'amount_over_limit',
  payment_in_progress: 'payment_in_progress',
  not_redeemable: 'not_redeemable',
  already_redeemed: 'already_redeemed',
  too_many_elicitations: 'too_many_elicitations',
  quota_exceeded: 'quota_exceeded',
  store_unavailable: 'unavailable',
  unknown_record_layout: 'unavailable',
  contention: 'unavailable',
};

/** Faults of the request, and overlong work, that fastify itself finds. Any other error of its own is ours, hence a 500. */
const byFastifyCode = new Map<string, ProblemCode>([
  [errorCodes.FST_ERR_CTP_BODY_TOO_LARGE().code, 'payload_too_large'],
  [errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE().code, 'unsupported_media_type'],
  [errorCodes.FST_ERR_CTP_EMPTY_TYPE().code, 'unsupported_media_type'],
  [errorCodes.FST_ERR_CTP_EMPTY_JSON_BODY().code, 'invalid_request'],
  [errorCodes.FST_ERR_CTP_INVALID_JSON_BODY().code, 'invalid_request'],
  [errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH().code, 'invalid_request'],
  [errorCodes.FST_ERR_BAD_URL().code, 'invalid_request'],
  // A QUERY request (RFC 10008) without a type; fastify refuses it before it looks for a route.
  [errorCodes.FST_ERR_ROUTE_MISSING_CONTENT_TYPE().code, 'invalid_request'],
  [errorCodes.FST_ERR_HANDLER_TIMEOUT().code, 'unavailable'],
]);

/** As `problemOf`, for an error met while answering: that a caller has gone before all of its body was here is its own doing. */
export function problemWith(request: { readonly raw: { readonly readableAborted: boolean } }, error: unknown) {
  return problemOf(error) ?? (request.raw.readableAborted ? problemOf(new ProblemError('invalid_request')) : undefined);
}

/** What any error means to whoever asked. Undefined for a surprise: a 500 that says nothing. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof ProblemError) {
    return {
      code: error.code,
      status: problems[error.code].status,
      ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
      ...(error.errors === undefined ? {} : { errors: error.errors }),
      ...(error.provider === undefined ? {} : { provider: error.provider }),
    };
  }
  if (error instanceof DomainError) {
    const code = byDomainCode[error.code];
    const retryAfterMs =
      error instanceof TooManyElicitationsError || error instanceof QuotaExceededError
        ? error.retryAfterMs
        : code === 'unavailable'
          ? 1000
          : undefined;
    return { code, status: problems[code].status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  // A key service comes back. A key that is lost does not: that is a surprise, named in the log.
  if (error instanceof VaultError && error.code === 'key_service_unavailable')
    return { code: 'unavailable', status: problems.unavailable.status, retryAfterMs: 1000 };
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string'
      ? byFastifyCode.get(error.code)
      : undefined;
  return code === undefined ? undefined : { code, status: problems[code].status };
}
