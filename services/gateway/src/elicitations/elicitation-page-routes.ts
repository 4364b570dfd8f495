import {
  DomainError,
  type Elicitation,
  type ElicitationService,
  isCharging,
  type Kind,
  type Visitor,
} from '@postern/elicitation';
import { declinedPage, endedPage, workingPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import { type AuthorizationPagesDeps, createAuthorizationPages } from '../authorization/authorization-pages.ts';
import { type CredentialPagesDeps, createCredentialPages } from '../entries/credential-pages.ts';
import { createFormPages, type FormPagesDeps } from '../entries/form-pages.ts';
import {
  type ById,
  type CompletedVisitOf,
  createPageGuard,
  type DecisionForm,
  type KindPages,
  type PageGuardDeps,
  type PageRequest,
  type PageVisit,
  pagePhase,
  type VisitOf,
  watchOf,
} from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { type ConfirmationPagesDeps, createConfirmationPages } from '../payments/confirmation-pages.ts';
import type { PaymentFlow } from '../payments/payment-flow.ts';
import { PaymentPages, type PaymentPagesDeps } from '../payments/payment-pages.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';

export interface ElicitationPageRoutesDeps
  extends PageGuardDeps,
    AuthorizationPagesDeps,
    PaymentPagesDeps,
    ConfirmationPagesDeps,
    CredentialPagesDeps,
    FormPagesDeps {
  readonly service: Pick<ElicitationService, 'find' | 'checkSamePerson' | 'assertSamePerson' | 'decline'>;
  readonly paymentFlow: PaymentFlow;
}

/** `/e/{id}`: the page of an elicitation and its decisions, behind the page guard. */
export const elicitationPageRoutes: FastifyPluginAsync<PageKit<ElicitationPageRoutesDeps>> = async (app, pages) => {
  const { deps, views } = pages;
  const { service, paymentFlow } = deps;
  const { guardGet, guardPost, findOwn } = createPageGuard(pages);
  const byKind: { readonly [K in Kind]: KindPages<K> } = {
    authorization: createAuthorizationPages(pages),
    payment: new PaymentPages(pages),
    confirmation: createConfirmationPages(pages),
    credential: createCredentialPages(pages),
    form: createFormPages(pages),
  };
  const showOpen = <K extends Kind>(kind: K, request: PageRequest, reply: FastifyReply, visit: VisitOf<K>) =>
    byKind[kind].showOpen(request, reply, visit);
  const showCompleted = <K extends Kind>(
    kind: K,
    request: PageRequest,
    reply: FastifyReply,
    visit: CompletedVisitOf<K>,
  ) => byKind[kind].showCompleted(request, reply, visit);
  const accept = <K extends Kind>(
    kind: K,
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<K>,
    form: DecisionForm,
  ) => byKind[kind].accept(request, reply, visit, form);

  /** The page says where the browser goes, and has a link that stops it: both work without a script. */
  function returnSoon(request: PageRequest, reply: FastifyReply, elicitation: Elicitation): void {
    const { returnHref, stayHref } = views.wayBack(elicitation, request);
    if (returnHref !== undefined && stayHref !== undefined) reply.header('refresh', `3; url=${returnHref}`);
  }

  async function show(request: PageRequest, reply: FastifyReply, visit: PageVisit): Promise<FastifyReply> {
    const { elicitation } = visit;
    const { kind } = elicitation.request;
    const context = views.context(request);
    const mcpServer = views.mcpServer(elicitation);
    const watch = watchOf(elicitation, views.now());
    switch (elicitation.status) {
      case 'pending':
      case 'active':
        // Does not expire a payment that the user may have made.
        if (elicitation.expiresAt <= views.now() && !isCharging(elicitation))
          return reply.send(endedPage(context, { reason: 'expired', mcpServer, ...views.manageHref(elicitation) }));
        return showOpen(kind, request, reply, visit);
      case 'verifying':
        return reply.send(workingPage(context, { mcpServer, watch, reloadHref: watch.pageHref }));
      case 'completed':
        returnSoon(request, reply, elicitation);
        return showCompleted(kind, request, reply, { ...visit, elicitation });
      case 'declined':
        returnSoon(request, reply, elicitation);
        return reply.send(
          declinedPage(context, {
            mcpServer,
            ...views.wayBack(elicitation, request),
            ...views.manageHref(elicitation),
          }),
        );
      case 'cancelled':
      case 'expired':
      case 'failed':
        return reply.send(
          endedPage(context, { reason: elicitation.status, mcpServer, ...views.manageHref(elicitation) }),
        );
    }
  }

  /** @returns false if the elicitation is still open, because a payment in progress cannot be declined */
  async function decline(elicitation: Elicitation, visitor: Visitor): Promise<boolean> {
    service.assertSamePerson(elicitation, visitor);
    let current = elicitation;
    if (!isCharging(current)) {
      try {
        await service.decline(current, visitor);
        return true;
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'payment_in_progress') throw error;
        // Approved in another tab in the meantime.
        current = (await service.find(current.elicitationId)) ?? current;
      }
    }
    return (await paymentFlow.close(current, 'decline')).state === 'settled';
  }

  app.get<ById>('/e/:elicitationId', (request, reply) =>
    guardGet(request, reply, visit => show(request, reply, visit)),
  );

  // For the script of the page. Everyone else gets the same answer for every id, and it says nothing.
  app.get<ById>('/e/:elicitationId/status', async (request, reply) => {
    const visit = await findOwn(request, reply);
    if (visit === undefined) return reply.code(404).removeHeader('content-type').send();
    return reply.type('application/json; charset=utf-8').send({ phase: pagePhase(visit.elicitation, views.now()) });
  });

  app.post<ById>('/e/:elicitationId/accept', (request, reply) =>
    guardPost(request, reply, (visit, form) => accept(visit.elicitation.request.kind, request, reply, visit, form)),
  );

  app.post<ById>('/e/:elicitationId/decline', (request, reply) =>
    guardPost(request, reply, async ({ elicitation, visitor }) => {
      const page = elicitationPath(elicitation.elicitationId);
      // The charge page asks the processor and shows the status.
      return reply.redirect((await decline(elicitation, visitor)) ? page : `${page}/charge`, 303);
    }),
  );
};
