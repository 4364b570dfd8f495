import { AuthorizationError } from '@postern/authorization';
import { RequestChangedError, type Trouble } from '@postern/elicitation';
import {
  type ConnectNotice,
  connectPage,
  type DeviceNotice,
  declinedPage,
  devicePage,
  donePage,
  endedPage,
  leavingPage,
  workingPage,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { troubleOf } from '../../flows/authorization-flow.ts';
import type { ScopePlan } from '../../flows/scope-plan.ts';
import { createConnectView } from './connect-view.ts';
import type { PageDeps } from './page-routes.ts';
import { type ById, createPresence, type Present } from './presence.ts';

/** `/e/{id}`: one elicitation, for the person it is for. */
export const elicitationPageRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { service, authorizationFlow, deviceFlow, scopePlan } = deps;
  const { look, decide } = createPresence(pages);
  const connectView = createConnectView(pages);
  const isDevice = ({ elicitation }: Present) => deps.providers.get(elicitation.request.provider)?.flow === 'device';

  async function sendConnect(
    request: FastifyRequest,
    reply: FastifyReply,
    present: Present,
    notice: ConnectNotice | undefined,
    plan?: ScopePlan,
  ): Promise<FastifyReply> {
    const context = views.context(request);
    const planned = plan ?? (await scopePlan(present.elicitation));
    return reply.send(connectPage(context, await connectView(present, planned, { notice, locale: context.locale })));
  }

  async function show(request: FastifyRequest<ById>, reply: FastifyReply, present: Present): Promise<FastifyReply> {
    const { elicitation } = present;
    const context = views.context(request);
    const mcpServer = views.mcpServer(elicitation);
    const returnUrl = views.returnHref(elicitation);
    const returnHref = returnUrl === undefined ? {} : { returnHref: returnUrl };
    switch (elicitation.status) {
      case 'pending':
      case 'active':
        if (elicitation.expiresAt <= views.now())
          return reply.send(endedPage(context, { reason: 'expired', mcpServer }));
        return sendConnect(request, reply, present, elicitation.status === 'pending' ? elicitation.trouble : undefined);
      case 'verifying':
        return reply.send(workingPage(context, { mcpServer, reloadHref: `/e/${elicitation.elicitationId}` }));
      case 'completed': {
        const { provider, scopes, connectionId } = elicitation.outcome;
        const account = (await deps.stores.connections.read(connectionId))?.account;
        return reply.send(
          donePage(context, {
            mcpServer,
            providerName: views.providerName(provider),
            ...(account === undefined ? {} : { accountName: account.name ?? account.id }),
            scopes: views.scopes(provider, scopes, context.locale),
            ...(present.browserSession === undefined ? {} : { connectionsHref: '/me' }),
            ...returnHref,
          }),
        );
      }
      case 'declined':
        return reply.send(declinedPage(context, { mcpServer, ...returnHref }));
      case 'cancelled':
      case 'expired':
      case 'failed':
        return reply.send(endedPage(context, { reason: elicitation.status, mcpServer }));
    }
  }

  async function sendDevice(
    request: FastifyRequest<ById>,
    reply: FastifyReply,
    present: Present,
    notice: DeviceNotice | undefined,
  ): Promise<FastifyReply> {
    const { elicitation, browserSession, secret } = present;
    const page = `/e/${elicitation.elicitationId}`;
    const attempt = await deviceFlow.shown(elicitation, browser.bindingOf(request));
    if (attempt === undefined) return reply.redirect(page, 303);
    return reply.send(
      devicePage(views.context(request), {
        mcpServer: views.mcpServer(elicitation),
        providerName: views.providerName(elicitation.request.provider),
        userCode: attempt.userCode,
        verificationHref: attempt.verificationUri,
        ...(browserSession === undefined ? {} : { person: views.person(browserSession) }),
        ...(notice === undefined ? {} : { notice }),
        expiresAt: new Date(Math.min(attempt.expiresAt, elicitation.expiresAt)),
        now: new Date(views.now()),
        checkAction: `${page}/device`,
        backHref: page,
        csrfToken: browser.csrfToken(secret),
      }),
    );
  }

  app.get<ById>('/e/:elicitationId', (request, reply) =>
    look(request, reply, present => show(request, reply, present)),
  );

  app.get<ById>('/e/:elicitationId/leaving', (request, reply) =>
    look(request, reply, async present => {
      const { elicitation } = present;
      const page = `/e/${elicitation.elicitationId}`;
      // What was begun in one way is not gone on with in the other, whatever is configured by now.
      if (isDevice(present)) return reply.redirect(page, 303);
      const destination = await authorizationFlow.destination(elicitation, browser.bindingOf(request));
      if (destination === undefined) return reply.redirect(page, 303);
      return reply.send(
        leavingPage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          providerName: views.providerName(elicitation.request.provider),
          destinationHost: destination.host,
          continueHref: destination.url,
          backHref: page,
        }),
      );
    }),
  );

  app.get<ById>('/e/:elicitationId/device', (request, reply) =>
    look(request, reply, async present =>
      isDevice(present)
        ? sendDevice(request, reply, present, undefined)
        : reply.redirect(`/e/${present.elicitation.elicitationId}`, 303),
    ),
  );

  app.post<ById>('/e/:elicitationId/accept', (request, reply) =>
    decide(request, reply, async (present, form) => {
      const { elicitation, visitor } = present;
      const { elicitationId } = elicitation;
      service.assertSamePerson(elicitation, visitor);
      const plan = await scopePlan(elicitation);
      // A consent is to what was seen. Another answer, or a second ask, may have changed the list since.
      if (form.shown !== plan.digest && (elicitation.status === 'pending' || elicitation.status === 'active'))
        return sendConnect(request, reply.code(409), present, 'scopes_changed', plan);
      const binding = browser.digest(browser.ensureId(request, reply));
      const flow = isDevice(present) ? deviceFlow : authorizationFlow;
      try {
        await flow.begin(elicitation, visitor, binding, plan);
      } catch (error) {
        if (error instanceof RequestChangedError)
          return sendConnect(request, reply.code(409), present, 'scopes_changed');
        if (!(error instanceof AuthorizationError)) throw error;
        // Nothing was written: the provider could not even be asked.
        deps.logger.warn(
          { event: 'provider.unavailable', provider: elicitation.request.provider, code: error.code },
          'authorization cannot start',
        );
        return sendConnect(request, reply.code(502), present, troubleOf(error) satisfies Trouble, plan);
      }
      return reply.redirect(`/e/${elicitationId}/${isDevice(present) ? 'device' : 'leaving'}`, 303);
    }),
  );

  app.post<ById>('/e/:elicitationId/device', (request, reply) =>
    decide(request, reply, async present => {
      const { elicitation, visitor } = present;
      service.assertSamePerson(elicitation, visitor);
      if (!isDevice(present)) return reply.redirect(`/e/${elicitation.elicitationId}`, 303);
      const polled = await deviceFlow.poll(elicitation, browser.bindingOf(request));
      return polled === 'settled'
        ? reply.redirect(`/e/${elicitation.elicitationId}`, 303)
        : sendDevice(request, reply, present, polled);
    }),
  );

  app.post<ById>('/e/:elicitationId/decline', (request, reply) =>
    decide(request, reply, async ({ elicitation, visitor }) => {
      await service.decline(elicitation.elicitationId, visitor);
      return reply.redirect(`/e/${elicitation.elicitationId}`, 303);
    }),
  );
};
