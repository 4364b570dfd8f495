import { type Elicitation, isOfKind, NotFoundError } from '@postern/elicitation';
import { type DeviceNotice, devicePage, leavingPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { PageRequest, PresentOf } from './kinds/kind-pages.ts';
import type { PageDeps } from './page-routes.ts';
import { type ById, createPresence, type Present } from './presence.ts';

/** The steps between agreeing to an authorization and its end: leaving for the provider, or entering a code there. */
export const authorizationPageRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { service, authorizationFlow, deviceFlow } = deps;
  const { look, decide } = createPresence(pages);

  async function sendDevice(
    request: PageRequest,
    reply: FastifyReply,
    { elicitation, browserSession, secret }: PresentOf<'authorization'>,
    notice: DeviceNotice | undefined,
  ): Promise<FastifyReply> {
    const page = pageOf(elicitation);
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

  app.get<ById>('/e/:elicitationId/leaving', (request, reply) =>
    look(request, reply, async present => {
      const { elicitation } = ofAuthorization(present);
      const page = pageOf(elicitation);
      // What was begun in one way is not gone on with in the other, whatever is configured by now.
      if (views.isDevice(elicitation)) return reply.redirect(page, 303);
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
    look(request, reply, async present => {
      const asked = ofAuthorization(present);
      return views.isDevice(asked.elicitation)
        ? sendDevice(request, reply, asked, undefined)
        : reply.redirect(pageOf(asked.elicitation), 303);
    }),
  );

  app.post<ById>('/e/:elicitationId/device', (request, reply) =>
    decide(request, reply, async present => {
      const asked = ofAuthorization(present);
      const { elicitation, visitor } = asked;
      service.assertSamePerson(elicitation, visitor);
      if (!views.isDevice(elicitation)) return reply.redirect(pageOf(elicitation), 303);
      const polled = await deviceFlow.poll(elicitation, browser.bindingOf(request));
      return polled === 'settled'
        ? reply.redirect(pageOf(elicitation), 303)
        : sendDevice(request, reply, asked, polled);
    }),
  );
};

const pageOf = ({ elicitationId }: Elicitation) => `/e/${elicitationId}`;

/** @throws NotFoundError: other kinds have no such pages */
function ofAuthorization(present: Present): PresentOf<'authorization'> {
  const { elicitation } = present;
  if (!isOfKind(elicitation, 'authorization')) throw new NotFoundError();
  return { ...present, elicitation };
}
