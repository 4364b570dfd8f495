import type { z } from 'zod/v4';
import type { Operation, OperationScope } from './operation.ts';

type Member<Name extends string, Of> = Of extends z.ZodType ? { readonly [N in Name]: z.input<Of> } : unknown;

/** What a caller of an operation passes, by its place in the request. */
export type OperationInput<Of extends Operation> = Member<'parameters', Of['parameters']> &
  (Of['query'] extends z.ZodType
    ? Record<never, never> extends z.input<Of['query']>
      ? Partial<Member<'query', Of['query']>>
      : Member<'query', Of['query']>
    : unknown) &
  (Of extends { readonly optionalBody: true } ? Partial<Member<'body', Of['body']>> : Member<'body', Of['body']>) &
  (Of extends { readonly requiresIdempotencyKey: string }
    ? { readonly idempotencyKey: string }
    : Of extends { readonly idempotencyKey: string }
      ? { readonly idempotencyKey?: string }
      : unknown) &
  (Of extends { readonly scope: Exclude<OperationScope, 'read'> }
    ? { readonly reason: string }
    : Of extends { readonly scope: 'read' }
      ? { readonly reason?: string }
      : unknown);

export type OperationOutput<Of extends Operation> = z.output<Of['output']>;

/** A request before it has a host and a credential. */
export interface OperationRequest<Schema extends z.ZodType> {
  readonly method: Operation['method'];
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. Undefined: none. */
  readonly body?: unknown;
  /** Of a successful response. */
  readonly schema: Schema;
}

interface AnyInput {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly reason?: string;
}

/** Header with the reason of an operator, for the audit trail. */
export const REASON_HEADER = 'postern-reason';

/** The request of an operation. Values in paths and queries may have any character. */
export function requestOf<Of extends Operation>(
  operation: Of,
  input: OperationInput<Of> & AnyInput,
): OperationRequest<Of['output']> {
  const { parameters = {}, query = {}, body, idempotencyKey, reason } = input;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(parameters[name])),
  );
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = String(new URLSearchParams(given.map(([name, value]) => [name, String(value)])));
  return {
    method: operation.method,
    path: search === '' ? path : `${path}?${search}`,
    headers: {
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(reason !== undefined && { [REASON_HEADER]: reason }),
    },
    body,
    schema: operation.output,
  };
}
