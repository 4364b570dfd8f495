import { issuersOf } from '@postern/authorization';
import type { Clock } from '@postern/elicitation';
import { NotFoundError, parseElicitationId } from '@postern/elicitation';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AdminService } from '../admin/admin-service.ts';
import { MAX_TEXT } from '../admin/find.ts';
import { createSharedReads } from '../admin/shared-reads.ts';
import { PageError } from '../pages/page-request.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { type ConsoleGuard, csrfField, reasonField } from './console-guard.ts';
import { elicitationPage, elicitationsPage, kinds, statuses } from './pages/elicitation-pages.ts';
import { jobPage, jobsPage } from './pages/job-pages.ts';
import type { SignedInPage } from './pages/layout.ts';
import { auditPage, endpointPage, findPage, peoplePage, webhooksPage } from './pages/operations-pages.ts';
import { overviewPage, ranges } from './pages/overview-page.ts';
import { linkTo } from './pages/parts.ts';
import { paymentPage, paymentsPage } from './pages/payment-pages.ts';
import { connectionsPage, credentialsPage } from './pages/record-pages.ts';

/** Rows of a page of a list. */
const PAGE = 50;
/** Age of numbers on the overview, in milliseconds. */
const SHARED_MS = 2_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An empty field of a filter counts as no filter. */
const given = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal('').transform(() => undefined), schema]).optional();
const name = given(z.string().max(80));
const date = given(z.iso.date());
const cursor = z.string().max(200).optional();

const overviewQuery = z.object({ range: z.enum(['day', 'week', 'month']).default('day') });
const elicitationsQuery = z.object({
  phase: z.enum(['open', 'ended']).default('open'),
  status: given(z.enum([...statuses.open, ...statuses.ended])),
  kind: given(z.enum(kinds)),
  mcpServer: name,
  provider: name,
  cursor,
});
const connectionsQuery = z.object({
  mcpServer: name,
  provider: name,
  lost: given(z.enum(['yes', 'no'])),
  since: date,
  cursor,
});
const credentialsQuery = z.object({ mcpServer: name, cursor });
const paymentsQuery = z.object({ phase: z.enum(['open', 'ended']).default('ended'), mcpServer: name, cursor });
const webhooksQuery = z.object({ endpoint: name });
/** Typed text that may get into a URL has a form that no secret has. */
const auditFilter = {
  event: given(z.string().regex(/^[a-z_]{1,40}(?:\.[a-z_]{1,40})?$/)),
  mcpServer: name,
  apiKey: given(z.string().regex(/^ak_[\w-]{1,64}$/)),
  since: date,
  until: date,
};
const auditQuery = z.object({ ...auditFilter, cursor });
const auditForm = z.strictObject({ ...auditFilter, apiKey: given(z.string().max(500)), csrf_token: csrfField });
const findForm = z.strictObject({ csrf_token: csrfField, text: z.string().min(1).max(MAX_TEXT) });
const personForm = z.strictObject({
  csrf_token: csrfField,
  issuer: z.string().max(2000),
  subject: z.string().min(1).max(500),
  reason: reasonField,
});

export interface ConsoleRoutesDeps {
  readonly admin: AdminService;
  readonly guard: ConsoleGuard;
  readonly pageFor: (request: FastifyRequest) => SignedInPage;
  readonly config: Pick<GatewayConfig, 'mcpServers' | 'providers' | 'identityProviders'>;
  readonly now: Clock;
}

const viewer = { config: { consoleRole: 'viewer' as const } };
const support = { config: { consoleRole: 'support' as const } };
/** A `HEAD` shows nothing, and would be recorded as a look. */
const supportOfPerson = { ...support, exposeHeadRoute: false };

/** @throws PageError for a query that no link of the console has */
function queryOf<Query>(request: FastifyRequest, schema: z.ZodType<Query>): Query {
  const query = schema.safeParse(request.query);
  if (!query.success) throw new PageError('bad_request');
  return query.data;
}

const dateOf = (day: string | undefined) => (day === undefined ? undefined : new Date(`${day}T00:00:00Z`));

/** The pages of the console. They ask the admin service only. */
export const consoleRoutes: FastifyPluginAsync<ConsoleRoutesDeps> = async (app, deps) => {
  const { admin, guard, pageFor, config, now } = deps;
  const configured = {
    mcpServers: config.mcpServers.map(({ id }) => id),
    providers: config.providers.map(({ name }) => name),
  };
  const issuers = [
    ...new Set([
      ...config.identityProviders.flatMap(issuersOf),
      ...config.mcpServers.flatMap(({ issuers }) => issuers),
    ]),
  ];

  const shared = createSharedReads(SHARED_MS);
  const actorOf = (request: FastifyRequest) => guard.visitOf(request).actor;

  app.get('/', viewer, async (request, reply) => {
    const { range } = queryOf(request, overviewQuery);
    const { hours, by } = ranges[range];
    const stepMs = by === 'hour' ? HOUR_MS : DAY_MS;
    // The current hour or day is the last place.
    const until = Math.ceil((now() + 1) / stepMs) * stepMs;
    const since = until - hours * HOUR_MS;
    const [counts, health] = await Promise.all([
      shared(`counts ${since} ${until}`, () => admin.counts({ since: new Date(since), until: new Date(until), by })),
      shared('health', () => admin.health()),
    ]);
    const places = Array.from({ length: (until - since) / stepMs }, (_, at) =>
      new Date(since + at * stepMs).toISOString(),
    );
    return reply.send(
      overviewPage(pageFor(request), { range, at: new Date(now()).toISOString(), places, counts, health }),
    );
  });

  app.get('/elicitations', viewer, async (request, reply) => {
    const query = queryOf(request, elicitationsQuery);
    const { mcpServer, ...rest } = query;
    const page = await admin.elicitations(actorOf(request), {
      ...rest,
      mcpServerId: mcpServer,
      phase: query.phase,
      limit: PAGE,
    });
    return reply.send(elicitationsPage(pageFor(request), { query, ...page }, configured));
  });

  app.get<{ Params: { elicitationId: string } }>(
    '/elicitations/:elicitationId',
    supportOfPerson,
    async (request, reply) => {
      const { actor } = guard.visitToPerson(request);
      const elicitationId = parseElicitationId(request.params.elicitationId);
      const found = elicitationId === undefined ? undefined : await admin.elicitation(actor, elicitationId);
      if (found === undefined) throw new NotFoundError('elicitation');
      return reply.send(elicitationPage(pageFor(request), found));
    },
  );

  app.get('/connections', viewer, async (request, reply) => {
    const query = queryOf(request, connectionsQuery);
    const { mcpServer, provider, lost, since, cursor } = query;
    const page = await admin.connections(actorOf(request), {
      mcpServerId: mcpServer,
      provider,
      since: dateOf(since),
      isLost: lost === undefined ? undefined : lost === 'yes',
      cursor,
      limit: PAGE,
    });
    return reply.send(connectionsPage(pageFor(request), { query, ...page }, configured));
  });

  app.get('/credentials', viewer, async (request, reply) => {
    const query = queryOf(request, credentialsQuery);
    const page = await admin.credentials(actorOf(request), {
      mcpServerId: query.mcpServer,
      cursor: query.cursor,
      limit: PAGE,
    });
    return reply.send(credentialsPage(pageFor(request), { query, ...page }, configured));
  });

  app.get('/payments', viewer, async (request, reply) => {
    const query = queryOf(request, paymentsQuery);
    const page = await admin.payments(actorOf(request), {
      mcpServerId: query.mcpServer,
      cursor: query.cursor,
      phase: query.phase,
      limit: PAGE,
    });
    return reply.send(paymentsPage(pageFor(request), { query, ...page }, configured));
  });

  app.get<{ Params: { elicitationId: string } }>('/payments/:elicitationId', viewer, async (request, reply) => {
    const elicitationId = parseElicitationId(request.params.elicitationId);
    const found = elicitationId === undefined ? undefined : await admin.payment(elicitationId);
    if (found === undefined) throw new NotFoundError('payment');
    return reply.send(paymentPage(pageFor(request), found));
  });

  app.get('/webhooks', viewer, async (request, reply) => {
    const { endpoint } = queryOf(request, webhooksQuery);
    const list = { endpoint, limit: PAGE };
    const [endpoints, retrying, dead] = await Promise.all([
      admin.webhookEndpoints(),
      admin.retryingDeliveries(list),
      admin.deadDeliveries(list),
    ]);
    const shown = endpoint === undefined ? undefined : endpoints.find(each => each.endpoint === endpoint);
    if (endpoint !== undefined && shown === undefined) throw new NotFoundError();
    const view = { endpoints, retrying, dead };
    return reply.send(
      shown === undefined ? webhooksPage(pageFor(request), view) : endpointPage(pageFor(request), shown, view),
    );
  });

  app.get('/jobs', viewer, async (request, reply) =>
    reply.send(jobsPage(pageFor(request), await admin.jobs({ limit: PAGE }))),
  );

  app.get<{ Params: { jobId: string } }>('/jobs/:jobId', viewer, async (request, reply) => {
    const job = await admin.job(request.params.jobId);
    if (job === undefined) throw new NotFoundError('elicitation');
    return reply.send(jobPage(pageFor(request), job));
  });

  app.get('/audit', viewer, async (request, reply) => {
    const query = queryOf(request, auditQuery);
    const { mcpServer, apiKey, since, until, ...rest } = query;
    const page = await admin.audit(actorOf(request), {
      ...rest,
      mcpServerId: mcpServer,
      apiKeyId: apiKey,
      since: dateOf(since),
      until: dateOf(until),
      limit: PAGE,
    });
    return reply.send(auditPage(pageFor(request), { query, ...page }, configured));
  });

  // Each member is checked before it is in a URL, and an API key that was pasted instead of its id never is.
  app.post('/audit', viewer, async (request, reply) => {
    const { csrf_token: _, apiKey, ...query } = await guard.readForm(request, auditForm);
    const isId = auditQuery.safeParse({ apiKey }).success;
    const apiKeyId = isId || apiKey === undefined ? apiKey : await admin.apiKeyIdOf(apiKey);
    if (apiKey !== undefined && apiKeyId === undefined) {
      const notice = 'No API key has this id. The list of API keys has the ids.';
      return reply.code(422).send(auditPage(pageFor(request), { query, items: [] }, configured, notice));
    }
    return reply.redirect(linkTo('/audit', { ...query, apiKey: apiKeyId }).toString(), 303);
  });

  app.get('/find', viewer, async (request, reply) => reply.send(findPage(pageFor(request))));

  app.post('/find', viewer, async (request, reply) => {
    const { text } = await guard.readForm(request, findForm);
    return reply.send(findPage(pageFor(request), await admin.find(text)));
  });

  app.get('/people', support, async (request, reply) => reply.send(peoplePage(pageFor(request), { issuers })));

  app.post('/people', support, async (request, reply) => {
    const { issuer, subject, reason } = await guard.readForm(request, personForm);
    const report = await admin.person({ ...actorOf(request), reason }, { issuer, subject });
    return reply.send(peoplePage(pageFor(request), { issuers, report }));
  });
};
