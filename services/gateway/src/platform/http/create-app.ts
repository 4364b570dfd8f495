import Fastify, { type FastifyInstance } from 'fastify';
import type { GatewayConfig } from '../config/config-schema.ts';
import { MAX_HEADER_BYTES } from './listener.ts';
import { problemFor, problemOf, sendProblem } from './problems.ts';
import { newRequestId } from './request-context.ts';

const noSchemas = () => {
  throw new TypeError('Routes have no JSON schemas: zod validates.');
};

/**
 * Creates an application without routes: of the public listener, the console or the admin API. Routes that read a body add their own
 * parser. All others, and unknown paths, leave it unread.
 */
export function createApp(p: {
  readonly config: Pick<GatewayConfig, 'trustProxy'>;
  readonly bodyLimit: number;
  /** Of each response to a request that cannot be routed. Hooks run only after routing. */
  readonly headers: Readonly<Record<string, string>>;
}): FastifyInstance {
  const app = Fastify({
    // Fastify's own request log would contain query strings, and with them authorization codes.
    logger: false,
    genReqId: newRequestId,
    trustProxy: p.config.trustProxy.length > 0 ? p.config.trustProxy : false,
    bodyLimit: p.bodyLimit,
    // Every id that fits into the request line reaches its route, which refuses an unknown id.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES, caseSensitive: true, ignoreTrailingSlash: false },
    // Requests that arrive while the process stops are still served; graceful-close ends their connections.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) =>
      sendProblem(request, reply.headers(p.headers), problemOf(error) ?? problemFor('internal_error')),
    // Keeps Fastify from loading Ajv and fast-json-stringify: 15 MB.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  return app;
}
