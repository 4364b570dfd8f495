import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import { type IdentityProviderConfig, issuersOf } from '@postern/authorization';
import type { Clock, Entropy, Stores } from '@postern/elicitation';
import { pageHeaders } from '@postern/pages';
import type { Vault } from '@postern/vault';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AdminService } from '../admin/admin-service.ts';
import { TooManyJobsError } from '../admin/jobs.ts';
import { OPERATOR_HANDLER_MS } from '../admin/operator-turns.ts';
import { InvalidCursorError } from '../admin/shard-lists.ts';
import { backChannelLogoutRoutes } from '../identity/back-channel-logout.ts';
import { createIdentityProvider } from '../identity/create-identity.ts';
import { createProviderLogout } from '../identity/logout.ts';
import { createSignInFlow } from '../identity/sign-in-flow.ts';
import { createBrowser } from '../pages/browser-cookies.ts';
import { deferFormParsing, PageError } from '../pages/page-request.ts';
import type { AuditLog, AuditSink, Pseudonyms } from '../platform/audit/audit-events.ts';
import { createAuditLog } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { ConsoleConfig } from '../platform/config/console-config.ts';
import { createHttpApp } from '../platform/http/http-app.ts';
import { type ErrorReports, ProblemError, problemFor, reportedProblem } from '../platform/http/problems.ts';
import { securityHeaders } from '../platform/http/security-headers.ts';
import { sendAsset } from '../platform/http/static-assets.ts';
import { networkOf } from '../platform/http/unknown-callers.ts';
import type { Logger } from '../platform/logger.ts';
import type { OutboundLog } from '../platform/outbound/outbound-log.ts';
import type { UpstreamOf } from '../platform/overload/upstream.ts';
import type { Stopping } from '../platform/stopping.ts';
import { createConsoleGuard, ForeignLinkError, isConsolePath } from './console-guard.ts';
import { consoleSignInRoutes } from './console-sign-in.ts';
import { consoleScript } from './pages/layout.ts';
import { errorPage, foreignLinkPage } from './pages/sign-in-pages.ts';
import type { ConsoleParts } from './section.ts';
import { apiKeys } from './sections/api-keys.ts';
import { audit } from './sections/audit.ts';
import { connections } from './sections/connections.ts';
import { credentials } from './sections/credentials.ts';
import { elicitations } from './sections/elicitations.ts';
import { find } from './sections/find.ts';
import { jobs } from './sections/jobs.ts';
import { overview } from './sections/overview.ts';
import { payments } from './sections/payments.ts';
import { people } from './sections/people.ts';
import { webhooks } from './sections/webhooks.ts';

export interface ConsoleDeps extends ErrorReports {
  readonly config: GatewayConfig;
  readonly admin: AdminService;
  readonly stores: Pick<Stores, 'oneTime' | 'operatorSessions'>;
  readonly vault: Vault;
  readonly logger: Logger;
  readonly auditSinks: readonly AuditSink[];
  readonly pseudonym: Pseudonyms;
  readonly upstreamOf: UpstreamOf;
  readonly outboundLog: OutboundLog;
  readonly stopping: Stopping;
  readonly retired: AbortSignal;
  readonly now: Clock;
  readonly entropy: Entropy;
}

/** Per session, so that a program cannot search people by guessing; per address for strangers. */
const REQUESTS_PER_MINUTE = 300;

/** Read when the console starts: without one, nothing of it is loaded. */
const stylesheet = readFileSync(new URL('console.css', import.meta.url));
const stylesheetPath = `/assets/console-${createHash('sha256').update(stylesheet).digest('base64url').slice(0, 16)}.css`;
const assets = [
  { path: stylesheetPath, type: 'text/css; charset=utf-8', body: stylesheet },
  { ...consoleScript, type: 'text/javascript; charset=utf-8' },
];

/** The pages of the console, which ask the admin service only. */
const sections = [
  overview,
  elicitations,
  connections,
  credentials,
  payments,
  webhooks,
  apiKeys,
  people,
  jobs,
  audit,
  find,
];

/**
 * Builds the application of the console, without a listener. It shares nothing with the hosted pages but code: its host name, cookies,
 * OpenID client and browser sessions are its own.
 */
export async function buildConsole(deps: ConsoleDeps, config: ConsoleConfig): Promise<FastifyInstance> {
  const { admin, stores, now, entropy, logger } = deps;
  const browser = createBrowser({
    publicUrl: config.publicUrl,
    browserSessions: stores.operatorSessions,
    cookies: {
      session: 'console',
      browser: 'console_browser',
      login: 'console_login',
      logout: 'console_logout',
    },
    entropy,
  });
  // Its own, so that error pages of users take no place of error pages of operators.
  const auditLog = createAuditLog(logger, deps.pseudonym, deps.auditSinks);
  const guard = createConsoleGuard({ config, browser, stylesheetPath, retired: deps.retired, now });
  const provider: IdentityProviderConfig = { ...config.identityProvider, name: 'console' };
  const identityProvider = createIdentityProvider(deps, provider, { groupsClaim: config.roles.claim });
  const providerLogout = createProviderLogout({
    deps: {
      config: { ...deps.config, publicUrl: config.publicUrl },
      identityProviders: [identityProvider],
      stores,
      now,
      entropy,
    },
    browser,
    kind: 'console-logout',
  });
  const signInFlow = createSignInFlow<string>({
    config: { publicUrl: config.publicUrl, browserSession: config.session },
    // The console records a sign-in once it knows the role.
    auditLog: { record: () => {} },
    stores: { oneTime: stores.oneTime, browserSessions: stores.operatorSessions },
    vault: deps.vault,
    identityProviders: [identityProvider],
    kind: 'console-login',
    parseReturnTo: path => (isConsolePath(path) ? path : undefined),
    now,
    entropy,
  });

  const onError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendError({ ...deps, auditLog }, request, reply, error);

  async function addRoutes(app: FastifyInstance): Promise<void> {
    await app.register(cookie);
    app.removeAllContentTypeParsers();
    deferFormParsing(app);
    await app.register(rateLimit, {
      global: false,
      timeWindow: 60_000,
      max: REQUESTS_PER_MINUTE,
      keyGenerator: async request => (await guard.sessionOf(request))?.id ?? networkOf(request.ip ?? ''),
      errorResponseBuilder: (_request, context) => new ProblemError('rate_limited', { retryAfterMs: context.ttl }),
    });
    // Of routes, the plugin would count only the requests that the guard admits.
    app.addHook('onRequest', app.rateLimit());
    app.addHook('onRequest', async (_request, reply) => {
      reply.headers(pageHeaders);
    });

    app.setNotFoundHandler((request, reply) => onError(new ProblemError('not_found'), request, reply));
    const assetHeaders = {
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'public, max-age=31536000, immutable',
    };
    for (const asset of assets)
      app.get(asset.path, { config: { consoleRole: 'anyone' } }, (request, reply) =>
        sendAsset(request, reply.headers(assetHeaders), asset),
      );
    guard.register(app);
    const endSession = (id: Parameters<typeof stores.operatorSessions.end>[0]) => stores.operatorSessions.end(id);
    const shared = { browser, guard, auditLog, identityProvider, signInFlow, endSession, stylesheetPath };
    await app.register(consoleSignInRoutes, { ...shared, config, providerLogout });
    await app.register(backChannelLogoutRoutes, {
      deps: {
        config: { browserSession: config.session },
        identityProviders: [identityProvider],
        stores: { browserSessions: stores.operatorSessions },
        auditLog,
      },
      surface: 'console',
      // The logout token authenticates the request.
      routeConfig: { consoleRole: 'anyone' },
    });
    const pageFor = (request: FastifyRequest) => {
      const { browserSession, role, csrfToken } = guard.visitOf(request);
      return { stylesheetPath, name: browserSession.displayName, role, csrfToken };
    };
    addSections(app, deps.config, { admin, guard, pageFor, now });
    // Closes the queues that it opened.
    app.addHook('onClose', () => admin[Symbol.asyncDispose]());
  }

  return createHttpApp({
    config: deps.config,
    limits: { bodyBytes: 16 * 1024, handlerMs: OPERATOR_HANDLER_MS },
    unroutedHeaders: { ...securityHeaders(config.publicUrl), ...pageHeaders },
    siteUrl: config.publicUrl,
    stopping: deps.stopping,
    logger,
    noteUnknownLayout: deps.noteUnknownLayout,
    noteQuota: deps.noteQuota,
    onError,
    routes: addRoutes,
  });
}

/** @param parts without the names that the configuration has */
function addSections(
  app: FastifyInstance,
  config: Pick<GatewayConfig, 'mcpServers' | 'providers' | 'identityProviders'>,
  parts: Omit<ConsoleParts, 'app' | 'configured'>,
): void {
  const configured = {
    mcpServers: config.mcpServers.map(({ id }) => id),
    providers: config.providers.map(({ name }) => name),
    issuers: [
      ...new Set([
        ...config.identityProviders.flatMap(issuersOf),
        ...config.mcpServers.flatMap(({ issuers }) => issuers),
      ]),
    ],
  };
  for (const addRoutes of sections.flat()) addRoutes({ app, configured, ...parts });
}

const texts: Readonly<Record<number, readonly [title: string, text: string]>> = {
  400: ['Invalid request', 'The link or the form is not one that this console made.'],
  403: ['Refused', 'The form does not belong to your session. Open the page again.'],
  404: ['Not found', 'There is no such page, or the record has expired.'],
  429: ['Too many requests', 'Wait a minute, then try again.'],
  409: ['Too many jobs', 'A hundred jobs are unfinished. Wait for one of them, or stop it.'],
  503: ['Not available', 'The store or the key service does not respond. Try again soon.'],
};

/** Errors that only the console knows, by their status. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof InvalidCursorError) return 400;
  if (error instanceof TooManyJobsError) return 409;
  if (error instanceof PageError) return error.kind === 'forbidden' ? 403 : 400;
  return undefined;
}

function sendError(
  deps: ErrorReports & { readonly auditLog: AuditLog },
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
): FastifyReply {
  reply.headers(pageHeaders);
  if (error instanceof ForeignLinkError) return reply.send(foreignLinkPage({ stylesheetPath }, { href: error.here }));
  const known = statusOf(error);
  const problem =
    known === undefined ? (reportedProblem(deps, request, error) ?? problemFor('internal_error')) : undefined;
  const status = known ?? problem?.status ?? 500;
  const [title, text] = texts[status] ?? ['Something went wrong', 'The log of the gateway has the reason.'];
  if (problem?.retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(problem.retryAfterMs / 1000));
  // Anyone can open an unknown path, and it explains itself.
  const hasNumber = status !== 404;
  if (hasNumber)
    deps.auditLog.record('page.failed', { requestId: request.id, route: request.routeOptions.url, status });
  return reply
    .code(status)
    .send(errorPage({ stylesheetPath }, { title, text, ...(hasNumber ? { requestId: request.id } : {}) }));
}
