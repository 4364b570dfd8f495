import { type ElicitationOf, type Fact, RequestChangedError } from '@postern/elicitation';
import { type ConfirmationFactsView, confirmationPage, confirmedPage, type FactView } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { createDecisionView } from '../decision-view.ts';
import type { PageDeps } from '../page-routes.ts';
import { amountView } from '../payment-view.ts';
import type { KindPages, PageRequest, PresentOf } from './kind-pages.ts';

/** Asks for a binding yes. */
export function createConfirmationPages(pages: PageDeps): KindPages<'confirmation'> {
  const { deps, views } = pages;
  const decisionView = createDecisionView(pages);

  function sendAsk(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'confirmation'>,
    notice?: 'sign_in_again' | 'terms_changed',
  ): FastifyReply {
    const { elicitation, browserSession } = present;
    return reply.send(
      confirmationPage(views.context(request), {
        ...decisionView(present, views.shownDigest(elicitation)),
        confirmation: factsOf(elicitation),
        approval: deps.approvalPolicy.mustSignInAgain(elicitation, browserSession)
          ? { signInAgainHref: views.signInHref(elicitation) }
          : 'button',
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  return {
    ask: async (request, reply, present) => sendAsk(request, reply, present),

    async done(request, reply, { elicitation }) {
      const { outcome } = elicitation;
      if (outcome.kind !== 'confirmation') throw new TypeError('an outcome of another kind');
      return reply.send(
        confirmedPage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          confirmation: factsOf(elicitation),
          approvedAt: new Date(outcome.approval.at),
          ...views.wayBack(elicitation),
        }),
      );
    },

    async accept(request, reply, present, form) {
      const { elicitation, visitor, browserSession } = present;
      try {
        const approved = await deps.approvalFlow(elicitation, { visitor, browserSession, shown: form.shown ?? '' });
        if (approved.result === 'sign_in_again') return sendAsk(request, reply.code(403), present, 'sign_in_again');
      } catch (error) {
        if (!(error instanceof RequestChangedError)) throw error;
        return sendAsk(request, reply.code(409), present, 'terms_changed');
      }
      return reply.redirect(`/e/${elicitation.elicitationId}`, 303);
    },
  };
}

function factsOf({ request }: ElicitationOf<'confirmation'>): ConfirmationFactsView {
  const { title, facts, danger } = request.terms;
  return { title, danger, facts: facts.map(factView) };
}

function factView(fact: Fact): FactView {
  return fact.type === 'amount' ? { ...fact, value: amountView(fact.value) } : fact;
}
