import type { Socket } from 'node:net';
import { type ProblemBody, type ProblemCode, problems } from '@postern/api';
import {
  DomainError,
  type DomainErrorCode,
  QuotaExceededError,
  RefundLimitError,
  refundLimitText,
  TooManyElicitationsError,
  TooManyOpenElicitationsError,
} from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import { errorCodes, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { newRequestId } from './request-context.ts';

/** An error response of the API (RFC 9457), before it has a body. */
export interface Problem {
  readonly code: ProblemCode;
  readonly status: number;
  readonly retryAfterMs?: number;
  /** What was wrong, or what is allowed. Default: the first of the errors. Never contains a value of the request. */
  readonly detail?: string;
  readonly errors?: readonly { path: string; message: string }[];
  /** Configured name of the provider that the gateway did not call. */
  readonly provider?: string;
  /** Page on which the user undoes a mute. */
  readonly undoUrl?: string;
}

/** Thrown when the gateway itself refuses a request. */
export class ProblemError extends Error {
  override name = 'ProblemError';
  readonly code: ProblemCode;
  readonly retryAfterMs: Problem['retryAfterMs'];
  readonly detail: Problem['detail'];
  readonly errors: Problem['errors'];
  readonly provider: Problem['provider'];
  readonly undoUrl: Problem['undoUrl'];

  constructor(code: ProblemCode, details: Omit<Problem, 'code' | 'status'> = {}) {
    super(problems[code].title);
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
    this.detail = details.detail;
    this.errors = details.errors;
    this.provider = details.provider;
    this.undoUrl = details.undoUrl;
  }
}

/** Delay before a caller should retry while Redis or the key service is unavailable, in ms. */
const UNAVAILABLE_MS = 1_000;

/** Maps every domain error to a problem of the API. A new code without an entry does not compile. */
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
  payment_not_paid: 'payment_not_paid',
  payment_disputed: 'payment_disputed',
  refund_exceeds_payment: 'refund_exceeds_payment',
  too_many_refunds: 'too_many_refunds',
  daily_limit_reached: 'daily_limit_reached',
  not_redeemable: 'not_redeemable',
  already_redeemed: 'already_redeemed',
  idempotency_key_reused: 'idempotency_key_reused',
  too_many_elicitations: 'too_many_elicitations',
  too_many_open_elicitations: 'too_many_open_elicitations',
  muted: 'muted',
  quota_exceeded: 'quota_exceeded',
  store_unavailable: 'unavailable',
  unknown_record_layout: 'unavailable',
  contention: 'unavailable',
};

/** Errors by which fastify reports a bad request or a handler timeout. Its other errors are bugs of ours, hence 500. */
const byFastifyCode = new Map<string, readonly [ProblemCode, detail?: string]>([
  [errorCodes.FST_ERR_CTP_BODY_TOO_LARGE().code, ['payload_too_large']],
  [errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE().code, ['unsupported_media_type']],
  [errorCodes.FST_ERR_CTP_EMPTY_TYPE().code, ['unsupported_media_type', 'The body has no Content-Type.']],
  [errorCodes.FST_ERR_CTP_EMPTY_JSON_BODY().code, ['invalid_request', 'The body is empty.']],
  [errorCodes.FST_ERR_CTP_INVALID_JSON_BODY().code, ['invalid_request', 'The body is not valid JSON.']],
  [
    errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH().code,
    ['invalid_request', 'The Content-Length is not that of the body.'],
  ],
  [errorCodes.FST_ERR_BAD_URL().code, ['invalid_request', 'The path has an invalid percent-encoding.']],
  // A QUERY request (RFC 10008) without a content type: fastify refuses it before routing.
  [errorCodes.FST_ERR_ROUTE_MISSING_CONTENT_TYPE().code, ['invalid_request', 'The request has no Content-Type.']],
  [errorCodes.FST_ERR_HANDLER_TIMEOUT().code, ['unavailable']],
]);

/** The `detail` of a refusal by a limit. @param setting key in the configuration of the gateway */
export const limitDetail = (limit: string, setting: string): string =>
  `The limit is ${limit} (${setting} in the configuration of the gateway).`;

export const problemFor = (code: ProblemCode): Problem => ({ code, status: problems[code].status });

/** Maps an error to the response for it. Undefined for an unexpected error, whose response must reveal nothing. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof ProblemError) {
    const { code, retryAfterMs, detail, errors, provider, undoUrl } = error;
    return { ...problemFor(code), retryAfterMs, detail, errors, provider, undoUrl };
  }
  if (error instanceof DomainError) {
    const problem = problemFor(byDomainCode[error.code]);
    if (
      error instanceof TooManyElicitationsError ||
      error instanceof TooManyOpenElicitationsError ||
      error instanceof QuotaExceededError
    )
      return { ...problem, retryAfterMs: error.retryAfterMs };
    if (error instanceof RefundLimitError) return { ...problem, detail: refundLimitText(error.left) };
    return problem.code === 'unavailable' ? { ...problem, retryAfterMs: UNAVAILABLE_MS } : problem;
  }
  // An unreachable key service recovers. A lost key does not: it is an unexpected error, and the log names the key.
  if (error instanceof VaultError && error.code === 'key_service_unavailable')
    return { ...problemFor('unavailable'), retryAfterMs: UNAVAILABLE_MS };
  const known =
    error instanceof Error && 'code' in error && typeof error.code === 'string'
      ? byFastifyCode.get(error.code)
      : undefined;
  if (known === undefined) return undefined;
  const [code, detail] = known;
  return { ...problemFor(code), detail };
}

/** As `problemOf`. A caller that disconnects while it sends the body causes an `invalid_request`, not an unexpected error. */
function requestProblemOf(
  request: { readonly raw: { readonly readableAborted: boolean } },
  error: unknown,
): Problem | undefined {
  return problemOf(error) ?? (request.raw.readableAborted ? problemFor('invalid_request') : undefined);
}

function problemBody(problem: Problem, requestId: string): ProblemBody {
  const { code, status, errors, provider, undoUrl, detail = summaryOf(errors) } = problem;
  return {
    type: `urn:postern:problem:${code}`,
    title: problems[code].title,
    status,
    code,
    requestId,
    detail,
    errors: errors && [...errors],
    provider,
    undoUrl,
  };
}

function summaryOf([first, ...more]: NonNullable<Problem['errors']> = []): string | undefined {
  if (first === undefined) return undefined;
  return `${first.path}: ${first.message}${more.length === 0 ? '' : ` (and ${more.length} more)`}`;
}

/** The value of a `Retry-After` header. */
export const retryAfterSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  return beginProblem(reply, problem).send(problemBody(problem, request.id));
}

/** Returns the payload that replaces the one of a complete response, in an `onSend` hook. */
export function becomeProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): string {
  beginProblem(reply, problem).removeHeader('content-length');
  return JSON.stringify(problemBody(problem, request.id));
}

function beginProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfterMs !== undefined) reply.header('retry-after', retryAfterSeconds(problem.retryAfterMs));
  if (problem.code === 'unauthenticated') reply.header('www-authenticate', 'Bearer realm="postern"');
  return reply.code(problem.status).type('application/problem+json');
}

export interface ErrorReports {
  readonly logger: Pick<Logger, 'error'>;
  readonly noteUnknownLayout: (error: unknown) => boolean;
  readonly noteQuota: (error: unknown) => void;
}

/** Reports an error to log and metrics, and returns its problem. Undefined for an unexpected error. */
export function reportedProblem(deps: ErrorReports, request: FastifyRequest, error: unknown): Problem | undefined {
  const problem = requestProblemOf(request, error);
  deps.noteUnknownLayout(error);
  deps.noteQuota(error);
  if (problem === undefined) {
    const { id: requestId, routeOptions } = request;
    deps.logger.error({ event: 'http.surprise', requestId, route: routeOptions.url, error }, 'unexpected error');
  }
  return problem;
}

/** Codes of Node's HTTP parser. Every other code means that the bytes are not HTTP. */
const byParserCode: Readonly<Record<string, Problem>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'invalid_request' },
  HPE_HEADER_OVERFLOW: { status: 431, code: 'payload_too_large' },
};

/** Not `STATUS_CODES`: an import of `node:http` reads all its getters, which load undici (16 MB of memory). */
const reasonPhrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/**
 * Responds to bytes that are not a valid request with a problem document and the usual headers. Never echoes the received
 * bytes.
 */
export function createClientErrorHandler(headers: Readonly<Record<string, string>>) {
  return (error: Error & { code: string }, socket: Socket): void => {
    // The caller has disconnected, or has its response already.
    if (socket.destroyed || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const problem = byParserCode[error.code] ?? problemFor('invalid_request');
    const body = JSON.stringify(problemBody(problem, newRequestId()));
    const lines = Object.entries({
      ...headers,
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${problem.status} ${reasonPhrases[problem.status] ?? ''}`, ...lines, '', body].join('\r\n'));
  };
}
