import type { Operation } from '@postern/api';
import { NotFoundError } from '@postern/elicitation';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ProblemError } from './problems.ts';
import { idempotencyKeyOf, noBodySchema } from './request-input.ts';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Immutable<T[Name]> }
    : T;
type IsUnion<T, Each = T> = T extends Each ? ([Each] extends [T] ? false : true) : never;

/** What the handler of an operation gets: its input, by its place in the request, and what its API adds. */
export type OperationCall<Of extends Operation, Context> = Context & {
  readonly parameters: Parsed<Of['parameters']>;
  readonly query: Parsed<Of['query']>;
  readonly body: Parsed<Of['body']>;
  readonly idempotencyKey: Of extends { readonly requiresIdempotencyKey: string } ? string : string | undefined;
};

type AnswerBody<Of extends Operation> = Immutable<z.output<Of['output']>>;

/** The body of the response, with its status where there are several. Undefined: not found. A stream takes the response over. */
type OperationAnswer<Of extends Operation> = Of extends { readonly streams: true }
  ? FastifyReply | undefined
  : true extends IsUnion<keyof Of['responses']>
    ? { readonly status: keyof Of['responses']; readonly body: AnswerBody<Of> }
    : AnswerBody<Of> | undefined;

type OperationHandler<Of extends Operation, Context> = (
  call: OperationCall<Of, Context>,
) => Promise<OperationAnswer<Of>>;

/** A handler for every operation of a table. */
export type OperationHandlers<Operations extends Readonly<Record<string, Operation>>, Context> = {
  readonly [Id in keyof Operations]: OperationHandler<Operations[Id], Context>;
};

/**
 * A handler of any operation. Written as a method, because TypeScript then accepts each handler here, whatever input it takes.
 * `mountOperation` passes the input that the row describes.
 */
export type AnyHandler<Context> = {
  handle(
    call: Context & {
      readonly parameters: unknown;
      readonly query: unknown;
      readonly body: unknown;
      readonly idempotencyKey: string | undefined;
    },
  ): Promise<unknown>;
}['handle'];

/** What the operations of one API have in common. */
export interface OperationsApi<Context> {
  /** The path parameters. @throws ProblemError */
  parameters(request: FastifyRequest, operation: Operation): unknown;
  /** Validates query or body. @throws ProblemError `invalid_request` */
  parse(schema: z.ZodType, value: unknown, place: 'query' | 'body', request: FastifyRequest): unknown;
  /** Whether an operation that describes no query refuses one. Default: it is not read. */
  readonly refusesOtherQueries?: true;
  /** Whether a missing body counts as an empty object, also where the body is not optional. */
  readonly acceptsMissingBody: boolean;
  /** Whether GET routes answer HEAD. */
  readonly answersHead: boolean;
  /** Runs before the body is read. @throws ProblemError */
  authorize?(request: FastifyRequest, operation: Operation): void;
  contextOf(request: FastifyRequest, reply: FastifyReply, operation: Operation): Context;
  /** Runs the handler. Default: at once. */
  run?(request: FastifyRequest, reply: FastifyReply, work: () => Promise<unknown>): Promise<unknown>;
  /** Of the routes, by operation. */
  readonly configs?: Readonly<Record<string, FastifyContextConfig>>;
}

/** Adds the routes of a table of operations. A row without a handler does not compile. */
export function mountOperations<Operations extends Readonly<Record<string, Operation>>, Context>(
  app: FastifyInstance,
  operations: Operations,
  handlers: OperationHandlers<Operations, Context> & Readonly<Record<string, AnyHandler<Context>>>,
  api: OperationsApi<Context>,
): void {
  for (const [id, operation] of Object.entries(operations)) {
    const handle = handlers[id];
    if (handle === undefined) throw new TypeError(`${id} has no handler.`);
    mountOperation(app, id, operation, handle, api);
  }
}

function mountOperation<Context>(
  app: FastifyInstance,
  id: string,
  operation: Operation,
  handle: AnyHandler<Context>,
  api: OperationsApi<Context>,
): void {
  const { method, path, streams = false } = operation;
  const query = operation.query ?? (api.refusesOtherQueries && z.strictObject({}));
  const [status = 200, ...others] = Object.keys(operation.responses).map(Number);
  app.route({
    method: streams ? [method, 'HEAD'] : method,
    url: path.slice(app.prefix.length).replaceAll(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: api.answersHead && !streams,
    config: streams ? { endsByItself: true } : (api.configs?.[id] ?? {}),
    ...(api.authorize && {
      onRequest(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) {
        api.authorize?.(request, operation);
        done();
      },
    }),
    async handler(request, reply) {
      const key = operation.requiresIdempotencyKey === undefined ? undefined : requiredKeyOf(request, operation);
      const input = {
        parameters: api.parameters(request, operation),
        query: query && api.parse(query, request.query, 'query', request),
        body: bodyOf(request, operation, api),
        idempotencyKey: key ?? (operation.idempotencyKey === undefined ? undefined : idempotencyKeyOf(request)),
      };
      const work = () => handle({ ...api.contextOf(request, reply, operation), ...input });
      const answer = await (api.run === undefined ? work() : api.run(request, reply, work));
      if (streams) return answer;
      if (answer === undefined) throw new NotFoundError();
      if (others.length === 0) return reply.code(status).send(answer);
      const { status: chosen, body } = Object(answer);
      return reply.code(chosen).send(body);
    },
  });
}

/** @throws ProblemError */
function requiredKeyOf(request: FastifyRequest, { requiresIdempotencyKey = '' }: Operation): string {
  const key = idempotencyKeyOf(request);
  if (key !== undefined) return key;
  const fault = { path: 'header.idempotency-key', message: requiresIdempotencyKey };
  throw new ProblemError('invalid_request', { errors: [fault] });
}

/** @throws ProblemError */
function bodyOf<Context>(request: FastifyRequest, operation: Operation, api: OperationsApi<Context>): unknown {
  const { method, body, optionalBody } = operation;
  if (method === 'GET') return undefined;
  if (body === undefined) {
    api.parse(noBodySchema, request.body, 'body', request);
    return undefined;
  }
  const isEmpty = request.body == null && (optionalBody === true || api.acceptsMissingBody);
  return api.parse(body, isEmpty ? {} : request.body, 'body', request);
}
