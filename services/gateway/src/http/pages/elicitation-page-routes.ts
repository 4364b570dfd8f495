import { DomainError, type Elicitation, isCharging, type Kind, type Visitor } from '@postern/elicitation';
import { declinedPage, endedPage, workingPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import { createAuthorizationPages } from './kinds/authorization-pages.ts';
import { createConfirmationPages } from './kinds/confirmation-pages.ts';
import { createCredentialPages } from './kinds/credential-pages.ts';
import { createFormPages } from './kinds/form-pages.ts';
import type { CompletedOf, KindPages, PageRequest, PresentOf } from './kinds/kind-pages.ts';
import { createPaymentPages } from './kinds/payment-pages.ts';
import type { PageDeps } from './page-routes.ts';
import { type ById, createPresence, type DecisionForm, type Present } from './presence.ts';

/** `/e/{id}`: one elicitation, for the person it is for. */
export const elicitationPageRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, views } = pages;
  const { service, paymentFlow } = deps;
  const { look, decide } = createPresence(pages);
  const byKind: { readonly [K in Kind]: KindPages<K> } = {
    authorization: createAuthorizationPages(pages),
    payment: createPaymentPages(pages),
    confirmation: createConfirmationPages(pages),
    credential: createCredentialPages(pages),
    form: createFormPages(pages),
  };
  const ask = <K extends Kind>(kind: K, request: PageRequest, reply: FastifyReply, present: PresentOf<K>) =>
    byKind[kind].ask(request, reply, present);
  const done = <K extends Kind>(kind: K, request: PageRequest, reply: FastifyReply, present: CompletedOf<K>) =>
    byKind[kind].done(request, reply, present);
  const accept = <K extends Kind>(
    kind: K,
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<K>,
    form: DecisionForm,
  ) => byKind[kind].accept(request, reply, present, form);

  async function show(request: PageRequest, reply: FastifyReply, present: Present): Promise<FastifyReply> {
    const { elicitation } = present;
    const { kind } = elicitation.request;
    const context = views.context(request);
    const mcpServer = views.mcpServer(elicitation);
    switch (elicitation.status) {
      case 'pending':
      case 'active':
        // What may have been paid is not over because its time is.
        if (elicitation.expiresAt <= views.now() && !isCharging(elicitation))
          return reply.send(endedPage(context, { reason: 'expired', mcpServer }));
        return ask(kind, request, reply, present);
      case 'verifying':
        return reply.send(workingPage(context, { mcpServer, reloadHref: `/e/${elicitation.elicitationId}` }));
      case 'completed':
        return done(kind, request, reply, { ...present, elicitation });
      case 'declined':
        return reply.send(declinedPage(context, { mcpServer, ...views.wayBack(elicitation) }));
      case 'cancelled':
      case 'expired':
      case 'failed':
        return reply.send(endedPage(context, { reason: elicitation.status, mcpServer }));
    }
  }

  async function decline(elicitation: Elicitation, visitor: Visitor): Promise<void> {
    service.assertSamePerson(elicitation, visitor);
    let current = elicitation;
    if (!isCharging(current)) {
      try {
        await service.decline(current.elicitationId, visitor);
        return;
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'payment_in_progress') throw error;
        // Approved in another tab since it was read.
        current = (await service.find(current.elicitationId)) ?? current;
      }
    }
    // Where it cannot be closed now, its page says how it stands.
    await paymentFlow.close(current, 'decline');
  }

  app.get<ById>('/e/:elicitationId', (request, reply) =>
    look(request, reply, present => show(request, reply, present)),
  );

  app.post<ById>('/e/:elicitationId/accept', (request, reply) =>
    decide(request, reply, (present, form) => accept(present.elicitation.request.kind, request, reply, present, form)),
  );

  app.post<ById>('/e/:elicitationId/decline', (request, reply) =>
    decide(request, reply, async ({ elicitation, visitor }) => {
      await decline(elicitation, visitor);
      return reply.redirect(`/e/${elicitation.elicitationId}`, 303);
    }),
  );
};
