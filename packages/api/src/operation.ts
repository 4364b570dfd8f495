import type { z } from 'zod/v4';
import type { ProblemCode } from './problems.ts';

/** Groups of operations, with their descriptions. */
export const tags = {
  Caller: 'Who the caller is, and what it may request.',
  Elicitations: 'Ask a user, and take the result.',
  Payments: 'Payments that processors have taken, and their refunds.',
  Connections: 'Accounts that users have connected, and their access tokens.',
  Credentials: 'Lasting credentials that users have typed.',
  Events: 'Changes of elicitations, as a stream or as webhooks.',
  Receipts: 'Keys that verify receipts.',
} as const;
type Tag = keyof typeof tags;

/** What a credential of `/admin/v1` may do. */
export type OperationScope = 'read' | 'people' | 'act' | 'keys';

/**
 * Examples of the OpenAPI document, by name. Parameters are those of the path and the query. Tests validate each against its schema, and
 * send the requests to a gateway.
 */
export interface OperationExamples {
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly request?: Readonly<Record<string, unknown>>;
  readonly response?: Readonly<Record<string, unknown>>;
}

/**
 * One operation of `/v1`, which MCP servers call, or of `/admin/v1`, which operators call. Routes, clients, OpenAPI documents and the
 * tables of the documentation follow from it. A command needs a row of its own in the gateway (`cli/operation-command.ts`).
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** OpenAPI path template. */
  readonly path: string;
  /** Of `/v1`. */
  readonly tag?: Tag;
  /** Of `/admin/v1`. All scopes except `read` need a reason, for the audit trail. */
  readonly scope?: OperationScope;
  readonly summary: string;
  readonly parameters?: z.ZodObject;
  /** Undefined: the query is not read. */
  readonly query?: z.ZodObject;
  /** Undefined: no body, or an empty object. */
  readonly body?: z.ZodType;
  /** The body is optional. */
  readonly optionalBody?: true;
  /** Accepts an `Idempotency-Key`, described here. */
  readonly idempotencyKey?: string;
  /** The `Idempotency-Key` is required: what is said to a request without one. */
  readonly requiresIdempotencyKey?: string;
  /**
   * Responds with an endless stream of server-sent events (HTML, section 9.2), which resumes after `Last-Event-ID`. The output describes
   * the JSON `data` of each event.
   */
  readonly streams?: true;
  /** Of every successful response. */
  readonly output: z.ZodType;
  /** Statuses of success, each with its description. */
  readonly responses: Readonly<Record<number, string>>;
  /** Problems in addition to those of every operation. */
  readonly problems: readonly ProblemCode[];
  readonly examples?: OperationExamples;
}

/** Problems that any operation can return. */
export const commonProblems: readonly ProblemCode[] = [
  'invalid_request',
  'unauthenticated',
  'rate_limited',
  'too_many_concurrent_requests',
  'internal_error',
  'unavailable',
  'overloaded',
  'api_keys_unavailable',
];

/** Additional problems of operations with a body. */
export const bodyProblems: readonly ProblemCode[] = ['payload_too_large', 'unsupported_media_type'];
