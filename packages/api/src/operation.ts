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

/** One operation of the contract. The OpenAPI document is generated from this list. A test checks the gateway's routes against it. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** OpenAPI path template. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly parameters?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body is optional. */
  readonly optionalBody?: true;
  /** Accepts an `Idempotency-Key`, described here. */
  readonly idempotencyKey?: string;
  /** The `Idempotency-Key` is required. */
  readonly requiresIdempotencyKey?: true;
  /**
   * Responds with an endless stream of server-sent events (HTML, section 9.2), which resumes after `Last-Event-ID`. The schema
   * of the response describes the JSON `data` of each event.
   */
  readonly streams?: true;
  readonly responses: Readonly<Record<number, { readonly description: string; readonly schema: z.ZodType }>>;
  /** Problems in addition to those of every operation. */
  readonly problems: readonly ProblemCode[];
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
