import {
  type ElicitationService,
  isCharging,
  isOfKind,
  NotFoundError,
  RequestChangedError,
} from '@postern/elicitation';
import { type ChargeNotice, chargePage, passkeyPage, passkeySignInPage, passkeyWaitPage } from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import type { PageRequest, VisitOf } from '../pages/kind-pages.ts';
import {
  type ById,
  createPageGuard,
  type DecisionForm,
  type PageGuardDeps,
  type PageVisit,
} from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-kit.ts';
import { assertNoPrefetch, PageError } from '../pages/page-request.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import type { DailyLimits } from './daily-limits.ts';
import type { PasskeyFlow } from './passkey-flow.ts';
import type { PasskeyPolicy } from './passkey-policy.ts';
import type { ChargeState, PaymentFlow } from './payment-flow.ts';
import { createPaymentView, type PaymentViewDeps } from './payment-view.ts';
import { shownTerms } from './shown-terms.ts';

export interface PaymentPageRoutesDeps extends PageGuardDeps, PaymentViewDeps {
  readonly service: Pick<ElicitationService, 'find' | 'checkSamePerson' | 'assertSamePerson'>;
  readonly approvalFlow: ApprovalFlow;
  readonly signInPolicy: SignInPolicy;
  readonly passkeyPolicy: PasskeyPolicy;
  readonly dailyLimits: DailyLimits;
  readonly passkeyFlow: PasskeyFlow;
  readonly paymentFlow: PaymentFlow;
}

/** Pages between the decision and the end of a payment: the passkey step, and paying at the processor. */
export const paymentPageRoutes: FastifyPluginAsync<PageKit<PaymentPageRoutesDeps>> = async (app, pages) => {
  const { deps, views } = pages;
  const { service, approvalFlow, signInPolicy, passkeyPolicy, dailyLimits, passkeyFlow, paymentFlow } = deps;
  const { guardGet, guardPost } = createPageGuard(pages);
  const { stepOf, chargeView } = createPaymentView(pages);

  async function sendPasskey(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'payment'>,
    notice?: 'failed' | 'not_added',
  ): Promise<FastifyReply> {
    const { elicitation, browserSession, secret } = visit;
    const page = pageOf(visit);
    const daily = await dailyLimits.standingOf(elicitation);
    const isNeeded =
      elicitation.status === 'pending' &&
      daily.result !== 'reached' &&
      (daily.result === 'passkey_needed' || passkeyPolicy.needsPasskey(elicitation)) &&
      !signInPolicy.mustSignInAgain(elicitation, browserSession);
    // The payment page shows why: decided, above the daily limit, sign-in required, or no passkey needed.
    if (!isNeeded) return reply.redirect(page, 303);
    const { mode, optionsJson, ceremony } = await passkeyFlow.begin(elicitation, { browserSession, secret });
    if (mode === 'register' && passkeyPolicy.mustSignInToAddPasskey(elicitation, browserSession))
      return reply.send(
        passkeySignInPage(views.context(request), {
          ...stepOf(visit),
          signInHref: views.freshSignInHref(elicitation),
        }),
      );
    const countsFrom = mode === 'assert' ? await passkeyFlow.countsFrom(elicitation) : undefined;
    if (countsFrom !== undefined) return sendPasskeyWait(request, reply, visit, countsFrom);
    const context = views.context(request);
    return reply.send(
      passkeyPage(context, {
        ...stepOf(visit),
        mode,
        optionsJson,
        action: mode === 'register' ? `${page}/passkey/new` : `${page}/passkey`,
        shown: shownTerms(views.shownDigest(elicitation), context.locale),
        ceremony,
        notice,
      }),
    );
  }

  /** Shows when the user's new passkey will count for this payment. */
  function sendPasskeyWait(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'payment'>,
    countsFrom: number,
  ): FastifyReply {
    return reply.send(passkeyWaitPage(views.context(request), { ...stepOf(visit), countsFrom: new Date(countsFrom) }));
  }

  /** Shows the status of the charge. */
  function sendCharge(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'payment'>,
    { state }: ChargeState,
    whenOpen?: ChargeNotice,
  ): FastifyReply {
    if (state === 'settled') return reply.redirect(pageOf(visit), 303);
    const notice = state === 'unavailable' ? 'processor_unavailable' : state === 'processing' ? state : whenOpen;
    return reply.send(chargePage(views.context(request), chargeView(visit, notice)));
  }

  app.get<ById>('/e/:elicitationId/passkey', (request, reply) =>
    guardGet(request, reply, visit => sendPasskey(request, reply, ofPayment(visit))),
  );

  app.post<ById>('/e/:elicitationId/passkey/new', (request, reply) =>
    guardPost(request, reply, async (visit, form) => {
      const paymentVisit = ofPayment(visit);
      const { elicitation, visitor, browserSession, secret } = paymentVisit;
      service.assertSamePerson(elicitation, visitor);
      const mustSignIn =
        signInPolicy.mustSignInAgain(elicitation, browserSession) ||
        passkeyPolicy.mustSignInToAddPasskey(elicitation, browserSession);
      if (mustSignIn) return reply.redirect(pageOf(paymentVisit), 303);
      const registered = await passkeyFlow.register(elicitation, browserSession, { ...passkeyFieldsOf(form), secret });
      return registered.result === 'verified'
        ? reply.redirect(`${pageOf(paymentVisit)}/passkey`, 303)
        : sendPasskey(request, reply.code(422), paymentVisit, 'not_added');
    }),
  );

  app.post<ById>('/e/:elicitationId/passkey', (request, reply) =>
    guardPost(request, reply, async (visit, form) => {
      const paymentVisit = ofPayment(visit);
      const { elicitation, visitor, browserSession, secret } = paymentVisit;
      service.assertSamePerson(elicitation, visitor);
      if (elicitation.status !== 'pending' || signInPolicy.mustSignInAgain(elicitation, browserSession))
        return reply.redirect(pageOf(paymentVisit), 303);
      const verified = await passkeyFlow.verify(elicitation, { ...passkeyFieldsOf(form), secret });
      if (verified.result === 'too_new')
        return sendPasskeyWait(request, reply.code(403), paymentVisit, verified.countsFrom);
      if (verified.result === 'failed') return sendPasskey(request, reply.code(422), paymentVisit, 'failed');
      try {
        const approver = { visitor, browserSession, shown: form.shown ?? '' };
        const approved = await approvalFlow(elicitation, approver, verified);
        // If the daily limit was reached since, the payment page shows it.
        if (approved.result === 'approved') await paymentFlow.open(approved.elicitation);
      } catch (error) {
        // The payment page shows the current terms, and the user decides again.
        if (!(error instanceof RequestChangedError)) throw error;
      }
      return reply.redirect(pageOf(paymentVisit), 303);
    }),
  );

  // The processor redirects the browser here. The redirect proves nothing: the gateway asks the processor for the status, as it does
  // after a webhook and in the sweep.
  app.get<ById>('/e/:elicitationId/charge', { exposeHeadRoute: false }, (request, reply) =>
    guardGet(request, reply, async visit => {
      const paymentVisit = ofPayment(visit);
      assertNoPrefetch(request);
      if (!isCharging(paymentVisit.elicitation) || paymentVisit.elicitation.charge === undefined)
        return reply.redirect(pageOf(paymentVisit), 303);
      return sendCharge(
        request,
        reply,
        paymentVisit,
        await paymentFlow.check(paymentVisit.elicitation),
        'not_paid_yet',
      );
    }),
  );

  app.post<ById>('/e/:elicitationId/charge', (request, reply) =>
    guardPost(request, reply, async visit => {
      const paymentVisit = ofPayment(visit);
      service.assertSamePerson(paymentVisit.elicitation, paymentVisit.visitor);
      if (!isCharging(paymentVisit.elicitation)) return reply.redirect(pageOf(paymentVisit), 303);
      const opened = await paymentFlow.open(paymentVisit.elicitation);
      return opened.state === 'unavailable'
        ? sendCharge(request, reply.code(502), paymentVisit, opened)
        : reply.redirect(pageOf(paymentVisit), 303);
    }),
  );
};

const pageOf = ({ elicitation }: PageVisit) => elicitationPath(elicitation.elicitationId);

function passkeyFieldsOf({ ceremony, response }: DecisionForm): { ceremony: string; response: string } {
  if (ceremony === undefined || response === undefined) throw new PageError('bad_request');
  return { ceremony, response };
}

/** @throws NotFoundError for other kinds, which do not have these pages */
function ofPayment(visit: PageVisit): VisitOf<'payment'> {
  const { elicitation } = visit;
  if (!isOfKind(elicitation, 'payment')) throw new NotFoundError();
  return { ...visit, elicitation };
}
