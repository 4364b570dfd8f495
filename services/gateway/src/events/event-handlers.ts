import type { ServerResponse } from 'node:http';
import { type EventsQuery, eventPositionSchema } from '@postern/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiHandlers } from '../mcp-servers/api-handlers.ts';
import { authenticatedCallerOf, type CallerDirectory, callerOf } from '../mcp-servers/caller-auth.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { parse } from '../platform/http/request-input.ts';
import { securityHeaders } from '../platform/http/security-headers.ts';
import type { EventStreams, OpenEventStream } from './event-streams.ts';

const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
  // The connection serves no further request. With keep-alive, a stopping replica would wait for it.
  connection: 'close',
};

export interface EventHandlersDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly eventStreams: EventStreams;
  readonly callers: Pick<CallerDirectory, 'isCurrent'>;
}

/** Server-sent events about the elicitations of the caller. */
export function eventHandlers(deps: EventHandlersDeps): ApiHandlers<'listenToEvents'> {
  const { eventStreams, callers } = deps;
  const headers = { ...securityHeaders(deps.config.publicUrl), ...EVENT_HEADERS };

  /** Takes the response over from Fastify, so it must send the security headers itself. */
  function begin(reply: FastifyReply): ServerResponse | undefined {
    reply.hijack();
    const { raw } = reply;
    // The client has disconnected: a response that has not begun would emit no `close`.
    if (raw.destroyed) return undefined;
    return raw.writeHead(200, headers);
  }

  return {
    async listenToEvents({ request, reply, query }) {
      const stream = streamRequest(request, query);
      // A HEAD request opens no stream.
      if (request.method === 'HEAD') return reply.headers(EVENT_HEADERS).send();
      const caller = authenticatedCallerOf(request);
      const isCurrent = () => callers.isCurrent(caller);
      await eventStreams.open({ ...stream, isCurrent }, () => begin(reply));
      return undefined;
    },
  };
}

function streamRequest(
  request: FastifyRequest,
  { kind, status, after }: EventsQuery,
): Omit<OpenEventStream, 'isCurrent'> {
  const { mcpServerId, config } = callerOf(request);
  const last = request.headers['last-event-id'];
  return {
    mcpServerId,
    max: config.limits.eventStreams,
    after: last === undefined || last === '' ? after : parse(eventPositionSchema, last, 'header'),
    filter: {
      kinds: kind === undefined ? undefined : new Set(kind),
      types: status === undefined ? undefined : new Set(status.map(each => `elicitation.${each}` as const)),
    },
  };
}
