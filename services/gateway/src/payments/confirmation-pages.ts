import { type ElicitationOf, type Fact, RequestChangedError } from '@postern/elicitation';
import { type ConfirmationFactsView, confirmationPage, confirmedPage, type FactView } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import { decisionView, type KindPages, type PageRequest, type VisitOf } from '../pages/page-guard.ts';
import { amountView, type PageKit } from '../pages/page-views.ts';
import { elicitationPath, receiptPath } from '../platform/http/public-urls.ts';
import { type Approvals, shownTerms } from './approvals.ts';
import { shownArguments } from './shown-arguments.ts';

export interface ConfirmationPagesDeps {
  readonly approvals: Approvals;
  readonly signInPolicy: SignInPolicy;
}

/** Pages of a confirmation. */
export function createConfirmationPages(pages: PageKit<ConfirmationPagesDeps>): KindPages<'confirmation'> {
  const { deps, views } = pages;

  function sendOpenPage(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'confirmation'>,
    notice?: 'sign_in_again' | 'terms_changed',
  ): FastifyReply {
    const { elicitation, browserSession } = visit;
    const context = views.context(request);
    return reply.send(
      confirmationPage(context, {
        ...decisionView(pages, visit, shownTerms(views.shownDigest(elicitation), context.locale)),
        confirmation: confirmationFactsOf(elicitation),
        approval: deps.signInPolicy.mustSignInAgain(elicitation, browserSession)
          ? { signInAgainHref: views.signInHref(elicitation) }
          : 'button',
        notice,
      }),
    );
  }

  return {
    showOpen: async (request, reply, visit) => sendOpenPage(request, reply, visit),

    async showCompleted(request, reply, { elicitation }) {
      const { outcome } = elicitation;
      if (outcome.kind !== 'confirmation') throw new TypeError('an outcome of another kind');
      return reply.send(
        confirmedPage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          confirmation: confirmationFactsOf(elicitation),
          approvedAt: new Date(outcome.approval.at),
          receiptHref: receiptPath(elicitation.elicitationId),
          ...views.wayBack(elicitation, request),
        }),
      );
    },

    async accept(request, reply, visit, form) {
      const { elicitation, visitor, browserSession } = visit;
      try {
        const approved = await deps.approvals.approve(elicitation, {
          visitor,
          browserSession,
          shown: form.shown ?? '',
        });
        if (approved.result === 'sign_in_again') return sendOpenPage(request, reply.code(403), visit, 'sign_in_again');
      } catch (error) {
        if (!(error instanceof RequestChangedError)) throw error;
        return sendOpenPage(request, reply.code(409), visit, 'terms_changed');
      }
      return reply.redirect(elicitationPath(elicitation.elicitationId), 303);
    },
  };
}

export function confirmationFactsOf({ request }: ElicitationOf<'confirmation'>): ConfirmationFactsView {
  const { facts, arguments: text, ...terms } = request.terms;
  return { ...terms, facts: facts.map(factView), ...(text === undefined ? {} : { arguments: shownArguments(text) }) };
}

function factView(fact: Fact): FactView {
  return fact.type === 'amount' ? { ...fact, value: amountView(fact.value) } : fact;
}
