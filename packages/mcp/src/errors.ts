import type { ElicitationBody, FormFaultCode, ProblemCode } from '@postern/api';

/** Codes that arise on this side of the gateway's HTTP contract. */
export type GatewayTransportCode = 'network_error' | 'timeout' | 'invalid_response';

/**
 * The gateway refused a call or could not be reached. Its text never contains a credential, a URL or an answer's body, so
 * it may be shown to an MCP client.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ProblemCode | GatewayTransportCode;
  /** HTTP status, absent when there was no answer. */
  readonly httpStatus: number | undefined;
  /** The gateway's own name for the request, to be looked up in its log. */
  readonly requestId: string | undefined;

  constructor(
    code: ProblemCode | GatewayTransportCode,
    message: string,
    details: {
      readonly httpStatus?: number | undefined;
      readonly requestId?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.httpStatus = details.httpStatus;
    this.requestId = details.requestId;
  }
}

export type ElicitationFailureCode = NonNullable<ElicitationBody['failure']>['code'] | 'unknown';

/** The interaction ended as `failed`: neither the user's yes nor the user's no. `code` is stable. */
export class ElicitationFailedError extends Error {
  override readonly name = 'ElicitationFailedError';
  readonly code: ElicitationFailureCode;
  readonly elicitationId: string;

  constructor(code: ElicitationFailureCode, elicitationId: string) {
    super(`What the user was asked for failed (${code}).`);
    this.code = code;
    this.elicitationId = elicitationId;
  }
}

/**
 * The MCP client cannot ask the user, and `missingCapability` is `error`. A handler that catches it may go on without the
 * answer; one that lets it pass ends in the refusal of the era (−32021, or a plain result).
 */
export class CapabilityMissingError extends Error {
  override readonly name = 'CapabilityMissingError';
  readonly code = 'capability_missing';
}

/** The user had not answered within `timeoutMs`. The question lives on until it expires. */
export class ElicitationTimeoutError extends Error {
  override readonly name = 'ElicitationTimeoutError';
  readonly code = 'elicitation_timeout';
  /** Absent for a form that the MCP client was to show. */
  readonly elicitationId: string | undefined;

  constructor(elicitationId: string | undefined) {
    super('The user has not answered in time.');
    this.elicitationId = elicitationId;
  }
}

/** What is wrong with a member of a form's content; never what it holds. `refused`: the handler's own schema said no. */
export interface FormContentFault {
  readonly path: string;
  readonly code: FormFaultCode | 'refused';
}

/** An MCP client answered a form with content that does not fit it, twice; or a schema of the handler refused what fits. */
export class FormContentError extends Error {
  override readonly name = 'FormContentError';
  readonly code = 'form_content_invalid';
  readonly faults: readonly FormContentFault[];

  constructor(faults: readonly FormContentFault[]) {
    super('The answer does not fit the form.');
    this.faults = faults;
  }
}

/** There is no verified user to ask. Thrown instead of guessing one. */
export class SubjectUnavailableError extends Error {
  override readonly name = 'SubjectUnavailableError';
  readonly code = 'subject_unavailable';
}

export type UsageErrorCode =
  | 'invalid_options'
  | 'invalid_ask'
  | 'invalid_url'
  | 'suspension_swallowed'
  | 'too_many_steps'
  | 'state_too_large'
  | 'arguments_not_serializable';

/** The MCP server's own code used this package wrongly. */
export class PosternUsageError extends Error {
  override readonly name = 'PosternUsageError';
  readonly code: UsageErrorCode;

  constructor(code: UsageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * A `requestState` that this MCP server did not seal for this user, tool and arguments, or that is too old. The reason
 * stays on this side: the wire answer is always the same −32602 (MRTR: reject what fails verification).
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

/** What was thrown, which may be anything, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
