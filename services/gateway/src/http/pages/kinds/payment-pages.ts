import { DomainError, isCharging, RequestChangedError } from '@postern/elicitation';
import { type ChargeNotice, chargePage, type PaymentNotice, paymentDonePage, paymentPage } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { createDecisionView } from '../decision-view.ts';
import type { PageDeps } from '../page-routes.ts';
import { createPaymentView } from '../payment-view.ts';
import type { KindPages, PageRequest, PresentOf } from './kind-pages.ts';

/** Asks for the approval of a payment. */
export function createPaymentPages(pages: PageDeps): KindPages<'payment'> {
  const { deps, views } = pages;
  const { approvalFlow, approvalPolicy } = deps;
  const decisionView = createDecisionView(pages);
  const { factsOf, chargeView } = createPaymentView(pages);

  function sendAsk(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'payment'>,
    notice: PaymentNotice | undefined,
  ): FastifyReply {
    const { elicitation, browserSession } = present;
    const mustSignInAgain = approvalPolicy.mustSignInAgain(elicitation, browserSession);
    return reply.send(
      paymentPage(views.context(request), {
        // Made from what the page is about to show, so that the form brings back the digest of exactly that.
        ...decisionView(present, views.shownDigest(elicitation)),
        payment: factsOf(elicitation),
        approval: mustSignInAgain
          ? { signInAgainHref: views.signInHref(elicitation) }
          : approvalPolicy.requirementsOf(elicitation).passkey
            ? 'passkey'
            : 'button',
        ...(notice === undefined ? {} : { notice }),
      }),
    );
  }

  function sendCharge(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'payment'>,
    notice?: ChargeNotice,
  ): FastifyReply {
    return reply.send(chargePage(views.context(request), chargeView(present, notice)));
  }

  return {
    async ask(request, reply, present) {
      const { elicitation } = present;
      if (isCharging(elicitation))
        return sendCharge(
          request,
          reply,
          present,
          elicitation.charge === undefined ? 'processor_unavailable' : undefined,
        );
      const isBack = elicitation.status === 'pending' && elicitation.trouble === 'payment_not_finished';
      return sendAsk(request, reply, present, isBack ? 'payment_not_finished' : undefined);
    },

    async done(request, reply, { elicitation, browserSession }) {
      const { outcome } = elicitation;
      if (outcome.kind !== 'payment') throw new TypeError('an outcome of another kind');
      return reply.send(
        paymentDonePage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          payment: factsOf(elicitation),
          approvedAt: new Date(outcome.approval.at),
          paid: outcome.processorReference !== undefined,
          method: outcome.approval.method,
          receiptNumber: views.receiptNumber(elicitation),
          ...(browserSession === undefined ? {} : { person: views.person(browserSession) }),
          ...views.wayBack(elicitation),
        }),
      );
    },

    async accept(request, reply, present, form) {
      const { elicitation, visitor, browserSession } = present;
      const page = `/e/${elicitation.elicitationId}`;
      try {
        const approved = await approvalFlow(elicitation, { visitor, browserSession, shown: form.shown ?? '' });
        switch (approved.result) {
          case 'sign_in_again':
            return sendAsk(request, reply.code(403), present, 'sign_in_again');
          case 'passkey_needed':
            return reply.redirect(`${page}/passkey`, 303);
          case 'approved':
            // Where the processor does not answer now, the page offers to ask it again.
            await deps.paymentFlow.open(approved.elicitation);
            return reply.redirect(page, 303);
        }
      } catch (error) {
        if (error instanceof RequestChangedError) return sendAsk(request, reply.code(409), present, 'terms_changed');
        if (error instanceof DomainError && error.code === 'payment_in_progress') return reply.redirect(page, 303);
        throw error;
      }
    },
  };
}
