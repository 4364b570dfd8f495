import rateLimit from '@fastify/rate-limit';
import { type Operation, REASON, REASON_HEADER } from '@postern/api';
import { adminOpenApiDocument, adminOperations } from '@postern/api/admin';
import type { StoredAdminCredential } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { AdminService } from '../admin/admin-service.ts';
import { TooManyApiKeysError } from '../admin/api-keys.ts';
import { TooManyJobsError } from '../admin/jobs.ts';
import { createOperatorTurns, OPERATOR_HANDLER_MS } from '../admin/operator-turns.ts';
import { InvalidCursorError } from '../admin/shard-lists.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { createHttpApp } from '../platform/http/http-app.ts';
import { mountOperations, type OperationsApi } from '../platform/http/mount-operations.ts';
import { type ErrorReports, ProblemError, problemFor, sendProblem } from '../platform/http/problems.ts';
import { addJsonParser } from '../platform/http/request-input.ts';
import { identified, networkOf } from '../platform/http/unknown-callers.ts';
import type { Logger } from '../platform/logger.ts';
import { packageVersion } from '../platform/package-version.ts';
import type { Stopping } from '../platform/stopping.ts';
import { type Network, offered } from '../platform/store/network.ts';
import { createAdminCredentials } from './admin-credentials.ts';
import { type AdminContext, adminHandlers } from './admin-handlers.ts';

export interface AdminApiDeps extends ErrorReports {
  readonly config: GatewayConfig;
  readonly admin: AdminService;
  readonly network: Network | undefined;
  readonly retired: AbortSignal;
  readonly logger: Logger;
  readonly stopping: Stopping;
  readonly now: () => number;
}

const ADMIN_API = '/admin/v1';

/** Per credential, and per address for strangers, who must not use up the requests of operators at the same address. */
const REQUESTS_PER_MINUTE = 600;
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

  const turns = createOperatorTurns(deps.retired);
  const operationsApi: OperationsApi<AdminContext> = {
    parameters: (request, operation) =>
      operation.parameters === undefined ? undefined : membersOf(operation.parameters, request.params),
    // A member of the path wins over one in query or body.
    parse: (schema, value, _place, { params }) => membersOf(schema, without(value, Object(params))),
    // `?dryRun=true` must not be taken for the member of the body.
    refusesOtherQueries: true,
    acceptsMissingBody: true,
    answersHead: false,
    authorize(request, { scope }) {
      if (!callerOf(request).scopes.some(each => each === scope)) throw new ProblemError('insufficient_scope');
    },
    contextOf(request, _reply, operation) {
      const { name, credentialId } = callerOf(request);
      const who = `${name} (${credentialId})`;
      return { admin, actor: { who, door: 'admin_api', ...reasonOf(request, operation) } };
    },
    run: (request, reply, work) => turns.take(callerOf(request).credentialId, reply.raw, work).catch(asProblem),
  };

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

    await app.register(async api => {
      api.removeAllContentTypeParsers();
      addJsonParser(api);
      mountOperations(api, adminOperations, adminHandlers, operationsApi);
    });
    const document = adminOpenApiDocument(packageVersion);
    app.get(`${ADMIN_API}/openapi.json`, { exposeHeadRoute: false }, (_request, reply) => reply.send(document));
    app.addHook('onClose', () => admin[Symbol.asyncDispose]());
  }

  const { config, stopping, logger, noteUnknownLayout, noteQuota } = deps;
  return createHttpApp({
    config,
    limits: { bodyBytes: 16 * 1024, handlerMs: OPERATOR_HANDLER_MS },
    unroutedHeaders: headers,
    stopping,
    logger,
    noteUnknownLayout,
    noteQuota,
    routes: addRoutes,
  });
}

/** @throws ProblemError */
function reasonOf(request: FastifyRequest, { scope }: Operation): { readonly reason?: string } {
  const reason = request.headers[REASON_HEADER];
  if (reason === undefined && scope === 'read') return {};
  if (typeof reason === 'string' && REASON.test(reason)) return { reason };
  const fault = { path: REASON_HEADER, message: 'must have 1 to 200 printable ASCII characters' };
  throw new ProblemError('invalid_request', { errors: [fault] });
}

/** @throws ProblemError */
function membersOf(schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const errors = error.issues.map(({ path, message }) => ({ path: path.join('.') || 'body', message }));
  throw new ProblemError('invalid_request', { errors });
}

/** The members of an object, without those that the path names. @throws ProblemError */
function without(value: unknown, named: object): unknown {
  if (value == null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new ProblemError('invalid_request');
  return Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(named, name)));
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
