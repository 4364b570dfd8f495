import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { errorPage, notFoundPage, pageHeaders, pageScript } from '@postern/pages';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { loopbackMeRoutes } from './account/loopback-me-routes.ts';
import { meBrowserRoutes } from './account/me-browser-routes.ts';
import { meCredentialRoutes } from './account/me-credential-routes.ts';
import { meDataRoutes } from './account/me-data-routes.ts';
import { meHistoryRoutes } from './account/me-history-routes.ts';
import { meMcpServerRoutes } from './account/me-mcp-server-routes.ts';
import { meRoutes } from './account/me-routes.ts';
import { authorizationPageRoutes } from './authorization/authorization-page-routes.ts';
import { callbackRoutes } from './authorization/oauth-callback.ts';
import type { GatewayDeps } from './deps.ts';
import { elicitationPageRoutes } from './elicitations/elicitation-page-routes.ts';
import { loginRoutes } from './identity/login-routes.ts';
import { logoutRoutes } from './identity/logout.ts';
import { mePasskeyRoutes } from './identity/passkeys/me-passkey-routes.ts';
import { createPasskeyNotice } from './identity/passkeys/user-passkeys.ts';
import { createBrowser } from './pages/browser-cookies.ts';
import { createLooks, keepAssets } from './pages/looks.ts';
import { assertLoopbackHost, createPageLimit, deferFormParsing, PageError } from './pages/page-request.ts';
import { createPageViews, createViewChoices, type PageKit, type PageViews } from './pages/page-views.ts';
import { redirectGetOfPosts } from './pages/post-only.ts';
import { paymentPageRoutes } from './payments/payment-pages.ts';
import { receiptPageRoutes } from './payments/receipt-pages.ts';
import { limitDefaultsOf } from './platform/config/mcp-server-config.ts';
import { type Problem, problemFor, reportedProblem, retryAfterSeconds, sendProblem } from './platform/http/problems.ts';
import { requestContext } from './platform/http/request-context.ts';
import { sendAsset } from './platform/http/static-assets.ts';

/** The hosted pages: requests are forms, responses are HTML or redirects, including errors. */
export const pageRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const { publicUrl, limits, mcpServers } = deps.config;
  const hasOneUser =
    mcpServers.every(({ identity }) => identity.mode === 'loopback') && deps.identityProviders.length === 0;
  const looks = createLooks(deps.config);
  const passkeyNotice = createPasskeyNotice(deps);
  const passkeysChanged = new WeakMap<FastifyRequest, Date>();
  const viewChoices = createViewChoices(deps.config);
  const views = createPageViews({
    viewChoices: viewChoices.read,
    passkeysChangedAt: request => passkeysChanged.get(request),
    operatorReference: operatorReferenceFor,
    lookOf: looks.of,
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
  const pages: PageKit<GatewayDeps> = { deps, browser, views };

  // Pages only: the API does not read cookies.
  await app.register(cookie);

  const script = { type: 'text/javascript; charset=utf-8', body: pageScript.body };
  for (const [path, asset] of [...keepAssets(deps.assets, looks.assets), [pageScript.path, script] as const]) {
    const headers = {
      ...(asset.type.startsWith('image/') ? imageHeaders : assetHeaders),
      'cache-control': 'public, max-age=31536000, immutable',
    };
    app.get(path, (request, reply) => sendAsset(request, reply.headers(headers), asset));
  }
  const iconHeaders = { ...imageHeaders, 'cache-control': 'public, max-age=3600' };
  app.get('/favicon.ico', (request, reply) => sendAsset(request, reply.headers(iconHeaders), looks.icon));

  await app.register(rateLimit, { global: false });
  const assertWithinLimit = createPageLimit(app, {
    max: limits.pageRequestsPerMinute ?? limitDefaultsOf(publicUrl).pageRequestsPerMinute,
    readSession: request => browser.readSession(request),
    returningWith: request =>
      deps.signInFlow.returningWith(new URL(request.url, publicUrl), browser.loginCookies(request)),
  });

  // Unknown paths: an HTML page for browsers, a problem document for other clients.
  app.setNotFoundHandler({ preHandler: assertWithinLimit }, (request, reply) => {
    const problem = problemFor('not_found');
    const readsPages = request.headers.accept?.includes('text/html') === true;
    return readsPages ? sendErrorPage(views, request, reply, problem, undefined) : sendProblem(request, reply, problem);
  });

  await app.register(async scope => {
    deps.telemetry?.traceRequests(scope, { surface: 'page' });
    scope.removeAllContentTypeParsers();
    deferFormParsing(scope);
    scope.addHook('onRequest', views.prepare);
    scope.addHook('onRequest', assertWithinLimit);
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(pageHeaders);
    });
    addReferenceToRedirects(scope);
    if (deps.config.mcpServers.some(server => server.identity.mode === 'loopback')) {
      scope.addHook('onRequest', async request => assertLoopbackHost(request));
    }

    scope.setErrorHandler((error, request, reply) => {
      const problem = pageErrorProblem(error) ?? reportedProblem(deps, request, error) ?? problemFor('internal_error');
      // The page of an unknown elicitation has no number.
      if (problem.code !== 'not_found')
        deps.auditLog.record('page.failed', {
          requestId: request.id,
          route: request.routeOptions.url,
          status: problem.status,
        });
      return sendErrorPage(views, request, reply, problem, error);
    });

    const registerRedirects = redirectGetOfPosts(scope);
    await scope.register(elicitationPageRoutes, pages);
    await scope.register(authorizationPageRoutes, pages);
    await scope.register(paymentPageRoutes, pages);
    await scope.register(receiptPageRoutes, pages);
    await scope.register(loginRoutes, pages);
    await scope.register(logoutRoutes, pages);
    await scope.register(callbackRoutes, pages);
    // Without a sign-in, `/me` belongs to the only user of the machine.
    if (hasOneUser) await scope.register(loopbackMeRoutes, pages);
    else await scope.register(meRoutes, pages);
    await scope.register(meCredentialRoutes, pages);
    await scope.register(meHistoryRoutes, pages);
    await scope.register(meBrowserRoutes, pages);
    await scope.register(meDataRoutes, pages);
    await scope.register(mePasskeyRoutes, pages);
    await scope.register(meMcpServerRoutes, pages);
    viewChoices.register(scope);
    registerRedirects();
  });
};

/** Opened as a page, they run nothing. */
const assetHeaders = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
};

/** Authorization servers may show the logo of an MCP server. */
const imageHeaders = { ...assetHeaders, 'cross-origin-resource-policy': 'cross-origin' };

function pageErrorProblem(error: unknown): Problem | undefined {
  return error instanceof PageError
    ? { code: 'invalid_request', status: error.kind === 'forbidden' ? 403 : 400 }
    : undefined;
}

async function sendErrorPage(
  views: PageViews,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  error: unknown,
): Promise<FastifyReply> {
  // A hook may have refused the request before any page was prepared.
  await views.prepare(request);
  const context = views.context(request);
  if (problem.retryAfterMs !== undefined) reply.header('retry-after', retryAfterSeconds(problem.retryAfterMs));
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

/** Query parameter of an elicitation page: the id of the failed request that redirected to it. */
const FAULT_PARAMETER = 'fault';

/**
 * Returns the id of the request that failed in a way only the operator can fix: this request, or the one that redirected here. Anyone
 * can set the query parameter, so a page uses it only if the record says that something failed, and shows only a well-formed id.
 */
function operatorReferenceFor({ id, query }: FastifyRequest): string | undefined {
  if (requestContext()?.needsOperator === true) return id;
  const named =
    typeof query === 'object' && query !== null && FAULT_PARAMETER in query ? query[FAULT_PARAMETER] : undefined;
  return typeof named === 'string' && /^rq_[\w-]{16}$/.test(named) ? named : undefined;
}

/** Adds the id of the failed request to redirects to elicitation pages, so that the page can show it. */
function addReferenceToRedirects(scope: FastifyInstance): void {
  scope.addHook('onSend', (request, reply, _payload, done) => {
    const location = reply.getHeader('location');
    if (requestContext()?.needsOperator === true && typeof location === 'string' && /^\/e\/[\w-]+$/.test(location))
      reply.header('location', `${location}?${FAULT_PARAMETER}=${request.id}`);
    done();
  });
}
