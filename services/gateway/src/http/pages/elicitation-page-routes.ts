import { AuthorizationError } from '@postern/authorization';
import {
  type BrowserSession,
  DomainError,
  type Elicitation,
  type ElicitationId,
  matchCodeOf,
  NotFoundError,
  parseElicitationId,
  type Visitor,
} from '@postern/elicitation';
import {
  type ConnectNotice,
  connectPage,
  declinedPage,
  donePage,
  endedPage,
  leavingPage,
  signInPage,
  workingPage,
  wrongPersonPage,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { troubleOf } from '../../flows/authorization-flow.ts';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { assertSameOrigin } from './same-origin.ts';
import { visitorOf } from './visitor-of.ts';

interface ById {
  Params: { elicitationId: string };
  Querystring: { switch?: string };
}

/** Who is there and what the forms of the page are bound to. */
interface Present {
  readonly elicitation: Elicitation;
  readonly visitor: Visitor;
  readonly browserSession: BrowserSession | undefined;
  /** Known to this browser and to us only; the CSRF token is derived from it. */
  readonly secret: string;
}

const formSchema = z.strictObject({ csrf_token: z.string().max(128) });

/** `/e/{id}`: one elicitation, for the person it is for. */
export const elicitationPageRoutes: FastifyPluginAsync<PageDeps> = async (app, { deps, browser, views }) => {
  const { service, authorizationFlow } = deps;

  /** Finds out who is there. Undefined when nobody is: the answer is then the same whether the id exists or not. */
  async function presentAt(request: FastifyRequest<ById>, reply: FastifyReply): Promise<Present | undefined> {
    const elicitationId = parseElicitationId(request.params.elicitationId);
    const [elicitation, browserSession] = await Promise.all([
      elicitationId === undefined ? undefined : service.find(elicitationId),
      browser.readSession(request),
    ]);
    const visitor = elicitation === undefined ? undefined : visitorOf(elicitation, browserSession);
    if (elicitation === undefined || !views.isRegistered(elicitation)) {
      if (browserSession === undefined && deps.identityProviders.length > 0) return undefined;
      throw new NotFoundError();
    }
    if (visitor === undefined) return undefined;
    return { elicitation, visitor, browserSession, secret: browserSession?.id ?? browser.ensureId(request, reply) };
  }

  function sendSignIn(request: FastifyRequest<ById>, reply: FastifyReply): FastifyReply {
    const query = new URLSearchParams({ e: request.params.elicitationId });
    if (request.query.switch !== undefined) query.set('switch', '1');
    return reply.send(signInPage(views.context(request), { continueHref: `/login?${query}` }));
  }

  function sendWrongPerson(
    request: FastifyRequest<ById>,
    reply: FastifyReply,
    browserSession: BrowserSession | undefined,
  ): FastifyReply {
    if (browserSession === undefined) throw new NotFoundError();
    return reply.code(403).send(
      wrongPersonPage(views.context(request), {
        person: views.person(browserSession),
        switchAccountAction: switchAction(request.params.elicitationId),
        csrfToken: browser.csrfToken(browserSession.id),
      }),
    );
  }

  async function sendConnect(
    request: FastifyRequest,
    reply: FastifyReply,
    present: Present,
    notice: ConnectNotice | undefined,
  ): Promise<FastifyReply> {
    const { elicitation, browserSession, secret } = present;
    const { elicitationId, request: asked } = elicitation;
    const context = views.context(request);
    const path = `/e/${elicitationId}`;
    return reply.send(
      connectPage(context, {
        mcpServer: views.mcpServer(elicitation),
        ...(browserSession === undefined
          ? {}
          : { person: views.person(browserSession), switchAccountAction: switchAction(elicitationId) }),
        authorization: {
          providerName: views.providerName(asked.provider),
          destinationHost: await destinationHost(asked.provider),
          // What the provider will be asked for, which includes what its configuration always adds.
          scopes: views.scopes(asked.provider, await requestedScopes(elicitation), context.locale),
        },
        ...(elicitation.message === undefined ? {} : { message: elicitation.message }),
        ...(elicitation.requestedBy === undefined ? {} : { requestedBy: elicitation.requestedBy }),
        matchCode: matchCodeOf(elicitationId),
        expiresAt: new Date(elicitation.expiresAt),
        now: new Date(views.now()),
        acceptAction: `${path}/accept`,
        declineAction: `${path}/decline`,
        csrfToken: browser.csrfToken(secret),
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  async function requestedScopes(elicitation: Elicitation): Promise<readonly string[]> {
    const scopes = await deps.scopePlan(elicitation);
    try {
      return deps.providers.get(elicitation.request.provider)?.requestedScopes(scopes) ?? scopes;
    } catch (error) {
      // Allowed when it was issued, no longer configured now: accepting will say that the provider cannot be asked.
      if (error instanceof AuthorizationError) return scopes;
      throw error;
    }
  }

  /** While the provider's metadata cannot be read, the host of its issuer, which the operator wrote down. */
  async function destinationHost(provider: string): Promise<string> {
    try {
      return (await deps.providers.get(provider)?.destinationHost()) ?? views.issuerHost(provider);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      deps.logger.warn(
        { event: 'provider.unavailable', provider, code: error.code },
        'provider metadata cannot be used',
      );
      return views.issuerHost(provider);
    }
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

  app.get<ById>('/e/:elicitationId', async (request, reply) => {
    const present = await presentAt(request, reply);
    if (present === undefined) return sendSignIn(request, reply);
    if (!service.checkSamePerson(present.elicitation, present.visitor))
      return sendWrongPerson(request, reply, present.browserSession);
    return show(request, reply, present);
  });

  app.get<ById>('/e/:elicitationId/leaving', async (request, reply) => {
    const present = await presentAt(request, reply);
    if (present === undefined) return sendSignIn(request, reply);
    if (!service.checkSamePerson(present.elicitation, present.visitor))
      return sendWrongPerson(request, reply, present.browserSession);
    const { elicitation } = present;
    const page = `/e/${elicitation.elicitationId}`;
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
  });

  /** A decision by form: from our own page, by the signed-in person. @throws PageError */
  async function decide(
    request: FastifyRequest<ById>,
    reply: FastifyReply,
    act: (present: Present & { elicitationId: ElicitationId }) => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    assertSameOrigin(request, deps.config.publicUrl);
    const form = formSchema.safeParse(request.body);
    const present = await presentAt(request, reply);
    if (present === undefined) return sendSignIn(request, reply.code(401));
    if (!form.success) throw new PageError('bad_request');
    if (!browser.isCsrfToken(form.data.csrf_token, present.secret)) throw new PageError('forbidden');
    await browser.keepAlive(request);
    const { elicitationId } = present.elicitation;
    try {
      return await act({ ...present, elicitationId });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (error.code === 'wrong_person') return sendWrongPerson(request, reply, present.browserSession);
      // Decided before, in another tab or by time: the page tells how it stands.
      if (error.code === 'already_ended' || error.code === 'illegal_transition')
        return reply.redirect(`/e/${elicitationId}`, 303);
      throw error;
    }
  }

  app.post<ById>('/e/:elicitationId/accept', (request, reply) =>
    decide(request, reply, async present => {
      const { elicitation, visitor, elicitationId } = present;
      service.assertSamePerson(elicitation, visitor);
      const browserId = browser.ensureId(request, reply);
      try {
        await authorizationFlow.begin(elicitation, visitor, browser.digest(browserId));
      } catch (error) {
        if (!(error instanceof AuthorizationError)) throw error;
        // Nothing was written: the provider could not even be asked.
        deps.logger.warn(
          { event: 'provider.unavailable', provider: elicitation.request.provider, code: error.code },
          'authorization cannot start',
        );
        return sendConnect(request, reply.code(502), present, troubleOf(error));
      }
      return reply.redirect(`/e/${elicitationId}/leaving`, 303);
    }),
  );

  app.post<ById>('/e/:elicitationId/decline', (request, reply) =>
    decide(request, reply, async ({ elicitationId, visitor }) => {
      await service.decline(elicitationId, visitor);
      return reply.redirect(`/e/${elicitationId}`, 303);
    }),
  );
};

const switchAction = (elicitationId: string): string => `/logout?e=${encodeURIComponent(elicitationId)}`;
