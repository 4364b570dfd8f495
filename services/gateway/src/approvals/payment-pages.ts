import { DomainError, isCharging, RequestChangedError } from '@postern/elicitation';
import {
  type ChargeNotice,
  chargePage,
  dailyLimitPage,
  type PaymentNotice,
  paymentDonePage,
  paymentPage,
} from '@postern/pages';
import type { FastifyReply } from 'fastify';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import { createDecisionView, type KindPages, type PageRequest, type VisitOf } from '../pages/kind-pages.ts';
import type { PageKit } from '../pages/page-kit.ts';
import { elicitationPath, receiptPath } from '../platform/http/public-urls.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import type { DailyLimits } from './daily-limits.ts';
import type { PasskeyFlow } from './passkey-flow.ts';
import type { PasskeyPolicy } from './passkey-policy.ts';
import type { PaymentFlow } from './payment-flow.ts';
import { createPaymentView, type PaymentViewDeps } from './payment-view.ts';
import { shownTerms } from './shown-terms.ts';

export interface PaymentPagesDeps extends PaymentViewDeps {
  readonly approvalFlow: ApprovalFlow;
  readonly signInPolicy: SignInPolicy;
  readonly passkeyPolicy: PasskeyPolicy;
  readonly dailyLimits: DailyLimits;
  readonly passkeyFlow: Pick<PasskeyFlow, 'begin' | 'countsFrom'>;
  readonly paymentFlow: Pick<PaymentFlow, 'open'>;
}

/** Pages of a payment: the request for approval, the charge, the result. */
export function createPaymentPages(pages: PageKit<PaymentPagesDeps>): KindPages<'payment'> {
  const { deps, views } = pages;
  const { approvalFlow, signInPolicy, passkeyPolicy, dailyLimits, passkeyFlow } = deps;
  const decisionView = createDecisionView(pages);
  const { factsOf, cameBack, stepOf, chargeView } = createPaymentView(pages);

  async function sendOpenPage(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'payment'>,
    notice: PaymentNotice | undefined,
  ): Promise<FastifyReply> {
    const { elicitation, browserSession } = visit;
    const context = views.context(request);
    const daily = await dailyLimits.standingOf(elicitation);
    if (daily.result === 'reached') {
      const from = daily.from === undefined ? {} : { from: new Date(daily.from) };
      return reply.send(dailyLimitPage(context, { ...stepOf(visit), ...from }));
    }
    const mustSignInAgain = signInPolicy.mustSignInAgain(elicitation, browserSession);
    const needsPasskey = passkeyPolicy.needsPasskey(elicitation) || daily.result === 'passkey_needed';
    return reply.send(
      paymentPage(context, {
        // The form posts back the digest of the terms that this page shows.
        ...decisionView(visit, shownTerms(views.shownDigest(elicitation), context.locale)),
        payment: factsOf(elicitation),
        approval: mustSignInAgain
          ? { signInAgainHref: views.signInHref(elicitation) }
          : needsPasskey
            ? await passkeyApproval(visit)
            : 'button',
        notice,
      }),
    );
  }

  /** The ceremony, if the user has a passkey that counts. The other cases have pages of their own, behind the button. */
  async function passkeyApproval({ elicitation, browserSession, secret }: VisitOf<'payment'>) {
    const { mode, optionsJson, ceremony } = await passkeyFlow.begin(elicitation, { browserSession, secret });
    if (mode === 'register' || (await passkeyFlow.countsFrom(elicitation)) !== undefined) return 'passkey';
    const action = `${elicitationPath(elicitation.elicitationId)}/passkey`;
    return { ceremony: { optionsJson, ceremony, action } };
  }

  function sendCharge(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'payment'>,
    notice?: ChargeNotice,
  ): FastifyReply {
    return reply.send(chargePage(views.context(request), chargeView(visit, notice)));
  }

  return {
    async showOpen(request, reply, visit) {
      const { elicitation } = visit;
      if (isCharging(elicitation))
        return sendCharge(
          request,
          reply,
          visit,
          elicitation.charge === undefined ? 'processor_unavailable' : undefined,
        );
      const isBack = elicitation.status === 'pending' && elicitation.retryReason === 'payment_not_finished';
      return sendOpenPage(request, reply, visit, isBack ? 'payment_not_finished' : undefined);
    },

    async showCompleted(request, reply, { elicitation, browserSession }) {
      const { outcome } = elicitation;
      if (outcome.kind !== 'payment') throw new TypeError('an outcome of another kind');
      return reply.send(
        paymentDonePage(views.context(request), {
          mcpServer: views.mcpServer(elicitation),
          payment: factsOf(elicitation),
          approvedAt: new Date(outcome.approval.at),
          paid: outcome.processorReference !== undefined,
          ...(await cameBack(elicitation)),
          method: outcome.approval.method,
          receiptNumber: views.receiptNumber(elicitation),
          receiptHref: receiptPath(elicitation.elicitationId),
          person: browserSession && views.person(browserSession),
          ...views.wayBack(elicitation, request),
        }),
      );
    },

    async accept(request, reply, visit, form) {
      const { elicitation, visitor, browserSession } = visit;
      const page = elicitationPath(elicitation.elicitationId);
      try {
        const approved = await approvalFlow(elicitation, { visitor, browserSession, shown: form.shown ?? '' });
        switch (approved.result) {
          case 'sign_in_again':
            return sendOpenPage(request, reply.code(403), visit, 'sign_in_again');
          case 'passkey_needed':
            return reply.redirect(`${page}/passkey`, 303);
          case 'daily_limit_reached':
            return sendOpenPage(request, reply.code(403), visit, undefined);
          case 'approved':
            // If the processor does not respond, the page offers a retry.
            await deps.paymentFlow.open(approved.elicitation);
            return reply.redirect(page, 303);
        }
      } catch (error) {
        if (error instanceof RequestChangedError) return sendOpenPage(request, reply.code(409), visit, 'terms_changed');
        if (error instanceof DomainError && error.code === 'payment_in_progress') return reply.redirect(page, 303);
        throw error;
      }
    },
  };
}
