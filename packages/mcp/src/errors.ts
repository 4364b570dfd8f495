import type { ElicitationBody, FormFaultCode, ProblemCode } from '@postern/api';
import { z } from 'zod/v4';

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

export type UsageErrorCode =
  | 'invalid_options'
  | 'no_gateway'
  | 'gateway_in_use'
  | 'other_sdk_copy'
  | 'testing_in_production'
  | 'invalid_ask'
  | 'invalid_url'
  | 'host_not_allowed'
  | 'suspension_swallowed'
  | 'ask_not_awaited'
  | 'refusal_ignored'
  | 'payment_left'
  | 'terms_changed'
  | 'effect_before_ask'
  | 'too_many_steps'
  | 'state_too_large'
  | 'arguments_not_serializable';

/** The MCP server's code uses this package incorrectly. */
export class PosternUsageError extends Error {
  override readonly name = 'PosternUsageError';
  readonly code: UsageErrorCode;

  constructor(code: UsageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** @param text names the option and what it may be, never its value */
export const invalidOptions = (text: string): PosternUsageError => new PosternUsageError('invalid_options', text);

/**
 * Parses what the MCP server's code has passed. The error names the member at fault and the allowed names or values, never the value
 * itself, which may be a secret.
 *
 * @param where names the function in the error
 * @throws {PosternUsageError} with `code`
 */
export function parseStrictly<T>(code: UsageErrorCode, where: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { error: wording });
  if (parsed.success) return parsed.data;
  throw new PosternUsageError(
    code,
    `${where}: ${z.prettifyError(new z.ZodError(parsed.error.issues.flatMap(withoutUnions)))}`,
  );
}

/** Functions, as an alternative of a union as well. */
export const callable = z.unknown().check(({ value, issues }) => {
  if (typeof value !== 'function')
    issues.push({ code: 'invalid_type', expected: 'function', input: value, message: 'Must be a function' });
});

type Issue = z.core.$ZodIssue;

/** Of a union whose schema has no message of its own. */
const NO_ALTERNATIVE = 'Invalid input';

/** zod does not name the known members, nor what a union allows. Undefined: zod's own message. */
const wording: z.core.$ZodErrorMap = issue => {
  if (issue.code === 'invalid_union')
    return 'options' in issue && Array.isArray(issue.options)
      ? `Must be one of ${listed(issue.options)}`
      : NO_ALTERNATIVE;
  if (issue.code === 'invalid_type' && issue.input === undefined) return `Missing: expected ${issue.expected}`;
  const known = membersOf(issue.inst);
  if (issue.code !== 'unrecognized_keys' || known === undefined) return undefined;
  return `Unknown member ${listed(issue.keys)}. Allowed: ${known.join(', ')}`;
};

function membersOf(schema: unknown): readonly unknown[] | undefined {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum ? schema.keyType.options : undefined;
}

const listed = (values: readonly unknown[]): string => values.map(value => JSON.stringify(value)).join(', ');

/** Replaces the issue of a union by those of the alternative that the author means: the one of the value's type, with the fewest issues. */
function withoutUnions(issue: Issue): Issue[] {
  const within = (inner: Issue): Issue => ({ ...inner, path: [...issue.path, ...inner.path] });
  if (issue.code === 'invalid_key') return issue.issues.map(within);
  if (issue.code !== 'invalid_union' || issue.message !== NO_ALTERNATIVE) return [issue];
  const alternatives = issue.errors.map(issues => issues.flatMap(withoutUnions));
  const [meant] = alternatives
    .filter(issues => !issues.some(isOtherType))
    .toSorted((one, other) => one.length - other.length);
  if (meant !== undefined) return meant.map(within);
  const texts = alternatives.flatMap(
    ([first]) => first?.message.replace(/^(?:Invalid input|Missing): |, received \w+$/g, '') ?? [],
  );
  return [{ ...issue, message: texts.join(', or ') }];
}

function isOtherType({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

/** Undefined for text that is not JSON: the error of `JSON.parse` would quote it. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
