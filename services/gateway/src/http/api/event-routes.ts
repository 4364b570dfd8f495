import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { eventPositionSchema, eventsQuerySchema } from '@postern/api';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDeps } from '../../deps.ts';
import { parse } from '../parse.ts';
import { securityHeaders } from '../plugins/security-headers-plugin.ts';
import { callerOf } from './caller-auth.ts';
import type { OpenEventStream } from './event-streams.ts';

/** How long clients may take for the end of their streams when the process stops. */
const LAST_WORDS_MS = 1_000;

const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
  // After its end there is nothing more on it, and a replica that stops would wait for it.
  connection: 'close',
};

/** Server-sent events of the caller's own elicitations. */
export const eventRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const { eventStreams, stopping } = deps;
  const headers = { ...securityHeaders(deps.config.publicUrl), ...EVENT_HEADERS };
  const answers = new Set<ServerResponse>();
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= endAll();
    return ended;
  };
  stopping.closing.addEventListener('abort', () => void end(), { once: true });
  app.addHook('preClose', end);

  async function endAll(): Promise<void> {
    await eventStreams.close();
    const closed = Promise.all([...answers].map(answer => once(answer, 'close')));
    await Promise.race([closed, delay(LAST_WORDS_MS, undefined, { ref: false })]);
    // Those who take nothing must not keep the process.
    for (const answer of answers) answer.destroy();
  }

  // Without a body there is nothing to wait for.
  app.head('/events', async (request, reply) => {
    wantedIn(request);
    return reply.headers(EVENT_HEADERS).send();
  });

  /** From here on the answer is nobody's but the stream's, so it brings the headers that others are given. */
  function begin(reply: FastifyReply): ServerResponse | undefined {
    reply.hijack();
    const { raw } = reply;
    // Gone meanwhile; an answer that never began would not notice.
    if (raw.destroyed) return undefined;
    answers.add(raw);
    raw.once('close', () => answers.delete(raw));
    return raw.writeHead(200, headers);
  }

  app.get('/events', { exposeHeadRoute: false, config: { endsByItself: true } }, async (request, reply) => {
    await eventStreams.open(wantedIn(request), () => begin(reply));
  });
};

function wantedIn(request: FastifyRequest): OpenEventStream {
  const { mcpServerId, config } = callerOf(request);
  const { kind, status, after } = parse(eventsQuerySchema, request.query, 'query');
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
