import { type Elicitation, type ElicitationService, isOfKind, NotFoundError } from '@postern/elicitation';
import { type DeviceNotice, devicePage, leavingPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import {
  type ById,
  createPageGuard,
  type PageGuardDeps,
  type PageRequest,
  type PageVisit,
  type VisitOf,
  watchOf,
} from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import type { AuthorizationStart } from './authorization-start.ts';
import type { DeviceFlow } from './device-flow.ts';

export interface AuthorizationPageRoutesDeps extends PageGuardDeps {
  readonly service: Pick<ElicitationService, 'find' | 'checkSamePerson' | 'assertSamePerson'>;
  readonly authorizationStart: Pick<AuthorizationStart, 'destination'>;
  readonly deviceFlow: Pick<DeviceFlow, 'currentAttempt' | 'poll'>;
}

/** Pages between the user's agreement and the end: the redirect to the provider, or the device code to enter there. */
export const authorizationPageRoutes: FastifyPluginAsync<PageKit<AuthorizationPageRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { service, authorizationStart, deviceFlow } = deps;
  const { guardGet, guardPost } = createPageGuard(pages);

  async function sendDevice(
    request: PageRequest,
    reply: FastifyReply,
    { elicitation, browserSession, secret }: VisitOf<'authorization'>,
    notice: DeviceNotice | undefined,
  ): Promise<FastifyReply> {
    const page = pageOf(elicitation);
    const attempt = await deviceFlow.currentAttempt(elicitation, browser.bindingOf(request));
    if (attempt === undefined) return reply.redirect(page, 303);
    return reply.send(
      devicePage(views.context(request), {
        mcpServer: views.mcpServer(elicitation),
        ...views.provider(elicitation.request.provider),
        userCode: attempt.userCode,
        verificationHref: attempt.verificationUri,
        notice,
        person: browserSession && views.person(browserSession),
        expiresAt: new Date(Math.min(attempt.expiresAt, elicitation.expiresAt)),
        now: new Date(views.now()),
        checkAction: `${page}/device`,
        backHref: page,
        csrfToken: browser.csrfToken(secret),
        watch: watchOf(elicitation, views.now()),
      }),
    );
  }

  app.get<ById>('/e/:elicitationId/leaving', (request, reply) =>
    guardGet(request, reply, async visit => {
      const { elicitation } = ofAuthorization(visit);
      const page = pageOf(elicitation);
      // The configured flow may have changed since this attempt began in the other one.
      if (views.isDevice(elicitation)) return reply.redirect(page, 303);
      const destination = await authorizationStart.destination(elicitation, browser.bindingOf(request));
      if (destination === undefined) return reply.redirect(page, 303);
      return reply.send(
        leavingPage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          ...views.provider(elicitation.request.provider),
          destinationHost: destination.host,
          continueHref: destination.url,
          backHref: page,
        }),
      );
    }),
  );

  app.get<ById>('/e/:elicitationId/device', (request, reply) =>
    guardGet(request, reply, async visit => {
      const authorizationVisit = ofAuthorization(visit);
      return views.isDevice(authorizationVisit.elicitation)
        ? sendDevice(request, reply, authorizationVisit, undefined)
        : reply.redirect(pageOf(authorizationVisit.elicitation), 303);
    }),
  );

  app.post<ById>('/e/:elicitationId/device', (request, reply) =>
    guardPost(request, reply, async visit => {
      const authorizationVisit = ofAuthorization(visit);
      const { elicitation, visitor } = authorizationVisit;
      service.assertSamePerson(elicitation, visitor);
      if (!views.isDevice(elicitation)) return reply.redirect(pageOf(elicitation), 303);
      const polled = await deviceFlow.poll(elicitation, browser.bindingOf(request));
      return polled === 'settled'
        ? reply.redirect(pageOf(elicitation), 303)
        : sendDevice(request, reply, authorizationVisit, polled);
    }),
  );
};

const pageOf = ({ elicitationId }: Elicitation) => elicitationPath(elicitationId);

/** @throws NotFoundError for other kinds, which do not have these pages */
function ofAuthorization(visit: PageVisit): VisitOf<'authorization'> {
  const { elicitation } = visit;
  if (!isOfKind(elicitation, 'authorization')) throw new NotFoundError();
  return { ...visit, elicitation };
}
