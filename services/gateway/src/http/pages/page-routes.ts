import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { errorPage, notFoundPage, pageHeaders, stylesheet } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { definedOnly } from '../../defined-only.ts';
import type { GatewayDeps } from '../../deps.ts';
import { createPasskeyNotice } from '../../flows/passkey-notice.ts';
import { problemFor, sendProblem } from '../plugins/errors-plugin.ts';
import { ProblemError } from '../problem-error.ts';
import { type Problem, problemWith } from '../problem-of.ts';
import { authorizationPageRoutes } from './authorization-page-routes.ts';
import { createBrowser } from './browser.ts';
import { callbackRoutes } from './callback-routes.ts';
import { elicitationPageRoutes } from './elicitation-page-routes.ts';
import { leaveFormsUnread } from './form-body.ts';
import { loginRoutes } from './login-routes.ts';
import { mePasskeyRoutes } from './me-passkey-routes.ts';
import { meRoutes } from './me-routes.ts';
import { meSecretRoutes } from './me-secret-routes.ts';
import { nameFaultsInRedirects } from './operator-reference.ts';
import { PageError } from './page-error.ts';
import { createPageViews, type PageViews } from './page-views.ts';
import { paymentPageRoutes } from './payment-page-routes.ts';
import { assertLoopbackHost } from './same-origin.ts';

export interface PageDeps {
  readonly deps: GatewayDeps;
  readonly browser: ReturnType<typeof createBrowser>;
  readonly views: PageViews;
}

/** What people open. Its own scope: forms only, every answer HTML or a redirect, errors included. */
export const pageRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const { publicUrl, limits } = deps.config;
  const branding = definedOnly(deps.config.branding);
  const style = stylesheet(branding);
  const passkeyNotice = createPasskeyNotice(deps);
  const passkeysChanged = new WeakMap<FastifyRequest, Date>();
  const views = createPageViews({
    passkeysChangedAt: request => passkeysChanged.get(request),
    branding,
    stylesheetPath: style.path,
    mcpServers: deps.mcpServers,
    providers: deps.providers,
    config: deps.config,
    now: deps.now,
  });
  const browser = createBrowser({
    publicUrl,
    browserSessions: deps.stores.browserSessions,
    entropy: deps.entropy,
    async onSession(request, browserSession) {
      const changedAt = await passkeyNotice(browserSession);
      if (changedAt !== undefined) passkeysChanged.set(request, changedAt);
    },
  });
  const pages: PageDeps = { deps, browser, views };

  // Only here: no machine that calls the API is recognised by a cookie.
  await app.register(cookie);

  app.get(style.path, (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .type('text/css; charset=utf-8')
      .send(style.body),
  );

  // What no route serves: a page for whoever reads pages, a problem for everybody else.
  app.setNotFoundHandler((request, reply) => {
    const problem = problemFor('not_found');
    const readsPages = request.headers.accept?.includes('text/html') === true;
    return readsPages ? sendErrorPage(views, request, reply, problem, undefined) : sendProblem(request, reply, problem);
  });

  await app.register(async scope => {
    deps.telemetry?.traceRequests(scope, { surface: 'page' });
    scope.removeAllContentTypeParsers();
    leaveFormsUnread(scope);
    await scope.register(rateLimit, {
      timeWindow: 60_000,
      max: limits.pageRequestsPerMinute,
      errorResponseBuilder: (_request, context) => new ProblemError('rate_limited', { retryAfterMs: context.ttl }),
    });
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(pageHeaders);
    });
    nameFaultsInRedirects(scope);
    if (deps.config.mcpServers.some(server => server.identity.mode === 'loopback')) {
      scope.addHook('onRequest', async request => assertLoopbackHost(request));
    }

    scope.setErrorHandler((error, request, reply) => {
      const problem = pageProblem(request, error);
      deps.noteUnknownLayout(error);
      deps.noteQuota(error);
      if (problem === undefined) {
        deps.logger.error(
          { event: 'http.surprise', requestId: request.id, route: request.routeOptions.url, error },
          'unexpected error',
        );
      }
      return sendErrorPage(views, request, reply, problem ?? problemFor('internal_error'), error);
    });

    await scope.register(elicitationPageRoutes, pages);
    await scope.register(authorizationPageRoutes, pages);
    await scope.register(paymentPageRoutes, pages);
    await scope.register(loginRoutes, pages);
    await scope.register(callbackRoutes, pages);
    await scope.register(meRoutes, pages);
    await scope.register(meSecretRoutes, pages);
    await scope.register(mePasskeyRoutes, pages);
  });
};

function pageProblem(request: FastifyRequest, error: unknown): Problem | undefined {
  return error instanceof PageError
    ? { code: 'invalid_request', status: error.kind === 'forbidden' ? 403 : 400 }
    : problemWith(request, error);
}

function sendErrorPage(
  views: PageViews,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  error: unknown,
): FastifyReply {
  const context = views.context(request);
  if (problem.retryAfterMs !== undefined)
    reply.header('retry-after', Math.max(1, Math.ceil(problem.retryAfterMs / 1000)));
  reply.code(problem.status).headers(pageHeaders);
  if (problem.code === 'not_found') return reply.send(notFoundPage(context));
  const kind =
    error instanceof PageError
      ? error.kind
      : problem.status === 429
        ? 'too_many_requests'
        : problem.status === 503 || problem.status === 502
          ? 'unavailable'
          : problem.status >= 500
            ? 'internal'
            : 'bad_request';
  return reply.send(errorPage(context, { requestId: request.id, kind }));
}
