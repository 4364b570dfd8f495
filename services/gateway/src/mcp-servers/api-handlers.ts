import type { operations } from '@postern/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationHandlers } from '../platform/http/mount-operations.ts';
import type { RegisteredMcpServer } from './registered-mcp-server.ts';

/** What every operation of `/v1` gets. */
export interface ApiContext {
  readonly caller: RegisteredMcpServer;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** A signal that aborts when nobody waits for the response any more, or the caller may no longer have it. */
  readonly signal: () => AbortSignal;
}

/** The handlers of some operations of `/v1`. */
export type ApiHandlers<Id extends keyof typeof operations> = OperationHandlers<
  Pick<typeof operations, Id>,
  ApiContext
>;
