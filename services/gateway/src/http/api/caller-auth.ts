import type { FastifyRequest } from 'fastify';
import type { GatewayDeps } from '../../deps.ts';
import type { RegisteredMcpServer } from '../../registered-mcp-server.ts';
import { ProblemError } from '../problem-error.ts';

/** RFC 6750 section 2.1. */
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i;
const MAX_CREDENTIAL = 4096;

const callers = new WeakMap<FastifyRequest, RegisteredMcpServer>();

/** Who makes this request; only inside the API's scope, where every request is authenticated first. */
export function callerOf(request: FastifyRequest): RegisteredMcpServer {
  const caller = callers.get(request);
  if (caller === undefined) throw new TypeError('the route is not behind caller authentication');
  return caller;
}

/** @throws ProblemError `unauthenticated`, the same for every reason. */
export function createCallerAuth({ callers: directory, events }: Pick<GatewayDeps, 'callers' | 'events'>) {
  return async (request: FastifyRequest): Promise<void> => {
    const header = request.headers.authorization ?? '';
    const bearer = header.length <= MAX_CREDENTIAL ? BEARER.exec(header)?.[1] : undefined;
    const caller = bearer === undefined ? undefined : await directory.identify(bearer);
    if (caller === undefined) {
      events.callerRefused();
      throw new ProblemError('unauthenticated');
    }
    callers.set(request, caller);
  };
}
