import rateLimit from '@fastify/rate-limit';
import { NotFoundError, type StoredAdminCredential } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AdminService } from '../admin/admin-service.ts';
import { TooManyApiKeysError } from '../admin/api-keys.ts';
import { TooManyJobsError } from '../admin/jobs.ts';
import { createOperatorTurns } from '../admin/operator-turns.ts';
import { InvalidCursorError } from '../admin/shard-lists.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { networkOf } from '../platform/http/addresses.ts';
import { createHttpApp } from '../platform/http/http-app.ts';
import { addJsonParser } from '../platform/http/parse.ts';
import { type ErrorReports, ProblemError, problemFor, sendProblem } from '../platform/http/problems.ts';
import { identified } from '../platform/http/unidentified.ts';
import type { Logger } from '../platform/logger.ts';
import type { Stopping } from '../platform/stopping.ts';
import { type Network, offered } from '../platform/store/network.ts';
import { createAdminCredentials } from './admin-credentials.ts';
import { adminOpenApi } from './admin-openapi.ts';
import { type AdminOperation, adminOperations } from './admin-operations.ts';

export interface AdminApiDeps extends ErrorReports {
  readonly config: GatewayConfig;
  readonly admin: AdminService;
  readonly network: Network | undefined;
  readonly logger: Logger;
  readonly stopping: Stopping;
  readonly now: () => number;
}

const ADMIN_API = '/admin/v1';
/** Header with the reason of the caller, for the audit trail. */
const REASON_HEADER = 'postern-reason';

const HANDLER_MS = 60_000;
/** Per credential, and per address for strangers, who must not use up the requests of operators at the same address. */
const REQUESTS_PER_MINUTE = 600;
/** Printable ASCII, so that it means the same in every log. */
const REASON = /^[\x20-\x7e]{1,200}$/;
const BEARER = /^Bearer ([\x21-\x7e]{1,200})$/i;

/** No response is for a browser, or for a cache. */
const headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/**
 * Builds the application of the admin API, without a listener. It has no cookies, and every route needs a credential with its scope.
 * Requests that change something or show one person must give a reason, which is in the audit trail before anything happens.
 */
export async function buildAdminApi(deps: AdminApiDeps): Promise<FastifyInstance> {
  const { admin } = deps;
  const credentials = createAdminCredentials({ ...deps, store: offered(deps.network).adminCredentials });

  const callers = new WeakMap<FastifyRequest, StoredAdminCredential>();

  async function noteCaller(request: FastifyRequest): Promise<void> {
    const [, token] = BEARER.exec(request.headers.authorization ?? '') ?? [];
    const found = token === undefined ? undefined : await credentials.of(token);
    if (found === undefined) return;
    callers.set(request, found);
    identified(request, { kind: 'caller', id: found.credentialId });
  }

  function callerOf(request: FastifyRequest): StoredAdminCredential {
    const caller = callers.get(request);
    if (caller === undefined) throw new ProblemError('unauthenticated');
    return caller;
  }

  function reasonOf(request: FastifyRequest, { scope }: AdminOperation): { readonly reason?: string } {
    const reason = request.headers[REASON_HEADER];
    if (reason === undefined && scope === 'read') return {};
    if (typeof reason === 'string' && REASON.test(reason)) return { reason };
    const fault = { path: REASON_HEADER, message: 'must have 1 to 200 printable ASCII characters' };
    throw new ProblemError('invalid_request', { errors: [fault] });
  }

  /** Members of path and query, or of path and body. The path wins. @throws ProblemError */
  function inputOf(request: FastifyRequest, { method, input }: AdminOperation): unknown {
    const sent = method === 'GET' ? request.query : (request.body ?? {});
    if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) throw new ProblemError('invalid_request');
    const members = { ...sent, ...(request.params as object) };
    const parsed = input.safeParse(members);
    if (parsed.success) return members;
    const errors = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.') || 'body', message }));
    throw new ProblemError('invalid_request', { errors });
  }

  async function addRoutes(app: FastifyInstance): Promise<void> {
    await app.register(rateLimit, {
      global: false,
      timeWindow: 60_000,
      max: REQUESTS_PER_MINUTE,
      keyGenerator: request => callers.get(request)?.credentialId ?? networkOf(request.ip ?? ''),
      errorResponseBuilder: (_request, context) => new ProblemError('rate_limited', { retryAfterMs: context.ttl }),
    });
    app.addHook('onRequest', async (_request, reply) => void reply.headers(headers));
    app.addHook('onRequest', noteCaller);
    // Of routes, the plugin would count only the requests with a credential.
    app.addHook('onRequest', app.rateLimit());
    // The list of routes is public, so unknown paths need no credential.
    app.setNotFoundHandler((request, reply) => sendProblem(request, reply, problemFor('not_found')));
    const turns = createOperatorTurns();

    await app.register(async api => {
      api.removeAllContentTypeParsers();
      addJsonParser(api);
      for (const operation of adminOperations) {
        api.route({
          method: operation.method,
          url: `${ADMIN_API}${operation.path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
          exposeHeadRoute: false,
          // Before the body is read.
          async onRequest(request) {
            if (!callerOf(request).scopes.includes(operation.scope)) throw new ProblemError('insufficient_scope');
          },
          async handler(request, reply) {
            const caller = callerOf(request);
            const input = inputOf(request, operation);
            const who = `${caller.name} (${caller.credentialId})`;
            const actor = { who, door: 'admin_api' as const, ...reasonOf(request, operation) };
            const work = () => operation.run({ admin, actor, input });
            const result = await turns.take(caller.credentialId, reply.raw, work).catch(asProblem);
            if (result === undefined) throw new NotFoundError();
            return reply.send(result);
          },
        });
      }
    });
    const document = adminOpenApi();
    app.get(`${ADMIN_API}/openapi.json`, { exposeHeadRoute: false }, (_request, reply) => reply.send(document));
    app.addHook('onClose', () => admin[Symbol.asyncDispose]());
  }

  const { config, stopping, logger, noteUnknownLayout, noteQuota } = deps;
  return createHttpApp({
    config,
    limits: { bodyBytes: 16 * 1024, handlerMs: HANDLER_MS },
    unroutedHeaders: headers,
    stopping,
    logger,
    noteUnknownLayout,
    noteQuota,
    routes: addRoutes,
  });
}

function asProblem(error: unknown): never {
  if (error instanceof InvalidCursorError)
    throw new ProblemError('invalid_request', {
      errors: [{ path: 'cursor', message: 'is not one that a page returned' }],
    });
  if (error instanceof TooManyApiKeysError)
    throw new ProblemError('rate_limited', { detail: 'There are 10,000 API keys.' });
  if (error instanceof TooManyJobsError) throw new ProblemError('rate_limited', { detail: '100 jobs are unfinished.' });
  throw error;
}
