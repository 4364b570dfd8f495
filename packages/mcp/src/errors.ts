import type { ElicitationBody, FormFaultCode, ProblemCode } from '@postern/api';

/** Codes that this package raises without a response of the gateway. */
export type GatewayTransportCode = 'network_error' | 'timeout' | 'invalid_response';

/**
 * The gateway refused a call or could not be reached. The message never contains a credential, a URL or a response body, so it may
 * be shown to an MCP client.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ProblemCode | GatewayTransportCode;
  /** HTTP status. Undefined if there was no response. */
  readonly httpStatus: number | undefined;
  /** The gateway's request id, for its log. */
  readonly requestId: string | undefined;
  /** With code `muted`: the page on which the user can undo it. */
  readonly undoUrl: string | undefined;
  /** For the log of the MCP server: the message, with what was refused and what is allowed. May name URLs, but no credential. */
  readonly explanation: string;

  constructor(
    code: ProblemCode | GatewayTransportCode,
    message: string,
    details: {
      readonly httpStatus?: number | undefined;
      readonly requestId?: string | undefined;
      readonly undoUrl?: string | undefined;
      readonly explanation?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.httpStatus = details.httpStatus;
    this.requestId = details.requestId;
    this.undoUrl = details.undoUrl;
    this.explanation = details.explanation ?? message;
  }
}

export function hasCode(error: unknown, code: GatewayError['code']): boolean {
  return error instanceof GatewayError && error.code === code;
}

export type ElicitationFailureCode = NonNullable<ElicitationBody['failure']>['code'] | 'unknown';

/** The interaction failed: the user neither accepted nor declined. `code` is stable. */
export class ElicitationFailedError extends Error {
  override readonly name = 'ElicitationFailedError';
  readonly code: ElicitationFailureCode;
  readonly elicitationId: string;

  constructor(code: ElicitationFailureCode, elicitationId: string) {
    super(`The elicitation failed (${code}).`);
    this.code = code;
    this.elicitationId = elicitationId;
  }
}

/**
 * The MCP client cannot ask the user, and `missingCapability` is `error`. A handler may catch it and continue without
 * the answer. Otherwise the call ends with the refusal of its era (−32021, or a plain result).
 */
export class CapabilityMissingError extends Error {
  override readonly name = 'CapabilityMissingError';
  readonly code = 'capability_missing';
}

/** The user did not answer within `answerWithinMs`. The elicitation stays open until it expires. */
export class ElicitationTimeoutError extends Error {
  override readonly name = 'ElicitationTimeoutError';
  readonly code = 'elicitation_timeout';
  /** Undefined for a form that the MCP client showed. */
  readonly elicitationId: string | undefined;

  constructor(elicitationId: string | undefined) {
    super('The user did not answer in time.');
    this.elicitationId = elicitationId;
  }
}

/** Describes why a member of a form's content is invalid. Never includes the user's input. `refused`: the handler's schema refused it. */
export interface FormContentFault {
  readonly path: string;
  readonly code: FormFaultCode | 'refused';
}

/** An MCP client sent invalid content twice, or the handler's schema refused valid content. */
export class FormContentError extends Error {
  override readonly name = 'FormContentError';
  readonly code = 'form_content_invalid';
  readonly faults: readonly FormContentFault[];

  constructor(faults: readonly FormContentFault[]) {
    // An MCP client may send any path.
    const named = faults.map(({ path, code }) => `${/^[\w.-]{1,64}$/.test(path) ? path : 'the content'} (${code})`);
    super(`The content does not match the form${named.length === 0 ? '' : `: ${named.slice(0, 20).join(', ')}`}.`);
    this.faults = faults;
  }
}

/** The request names no verified user. */
export class SubjectUnavailableError extends Error {
  override readonly name = 'SubjectUnavailableError';
  readonly code = 'subject_unavailable';
}

/**
 * A `requestState` that this MCP server did not seal for this user, tool and arguments, or that has expired. The response is always
 * the same −32602 and does not include the reason (MRTR: reject what fails verification).
 */
export class InvalidRequestStateError extends Error {
  override readonly name = 'InvalidRequestStateError';
  readonly code = 'invalid_request_state';
  readonly reason:
    | 'malformed'
    | 'unknown_key'
    | 'forged'
    | 'expired'
    | 'other_subject'
    | 'other_tool'
    | 'other_arguments';

  constructor(reason: InvalidRequestStateError['reason'], options?: ErrorOptions) {
    super('Invalid or expired requestState', options);
    this.reason = reason;
  }
}

/** Converts a thrown value to an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Also finds an error that a handler wrapped with `cause`. */
export function findError<E extends Error>(
  error: unknown,
  kind: abstract new (...parameters: never[]) => E,
): E | undefined {
  for (const current of causesOf(error)) if (current instanceof kind) return current;
  return undefined;
}

/** The error, its cause, the cause of that, and so on. */
export function causesOf(error: unknown): ReadonlySet<Error> {
  const seen = new Set<Error>();
  for (let current = error; current instanceof Error && !seen.has(current); current = current.cause) seen.add(current);
  return seen;
}
