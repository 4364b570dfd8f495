import {
  DomainError,
  type ElicitationOf,
  type ElicitationService,
  isCharging,
  isOfKind,
  NotFoundError,
  type Payment,
  RequestChangedError,
  refundedOf,
} from '@postern/elicitation';
import {
  type ChargeNotice,
  type ChargeView,
  chargePage,
  dailyLimitPage,
  displayHost,
  type PaidView,
  type PaymentFactsView,
  type PaymentNotice,
  passkeyPage,
  passkeySignInPage,
  passkeyWaitPage,
  paymentDonePage,
  paymentPage,
  type RefundView,
} from '@postern/pages';
import { decimalsOf, type PaymentProcessor } from '@postern/payment';
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import type { Browser } from '../pages/browser-cookies.ts';
import {
  type ById,
  type CompletedVisitOf,
  createPageGuard,
  type DecisionForm,
  decisionView,
  type KindPages,
  type PageGuardDeps,
  type PageRequest,
  type PageVisit,
  type VisitOf,
  watchOf,
} from '../pages/page-guard.ts';
import { assertNoPrefetch, PageError } from '../pages/page-request.ts';
import { amountView, type PageKit, type PageViews } from '../pages/page-views.ts';
import { elicitationPath, receiptPath } from '../platform/http/public-urls.ts';
import { type Approvals, type PasskeyPolicy, shownTerms } from './approvals.ts';
import type { PasskeyFlow } from './passkey-flow.ts';
import type { PaymentFlow } from './payment-flow.ts';
import type { Refunds } from './refunds.ts';

type PaymentVisit = VisitOf<'payment'>;

export interface PaymentPagesDeps extends PaymentViewDeps {
  readonly service: Pick<ElicitationService, 'assertSamePerson'>;
  readonly approvals: Approvals;
  readonly signInPolicy: SignInPolicy;
  readonly passkeyPolicy: PasskeyPolicy;
  readonly passkeyFlow: PasskeyFlow;
  readonly paymentFlow: PaymentFlow;
}

/** The pages between the decision and the end of a payment: the passkey step, and paying at the processor. */
export const paymentPageRoutes: FastifyPluginAsync<PageKit<PageGuardDeps & PaymentPagesDeps>> = async (app, pages) => {
  const { guardGet, guardPost } = createPageGuard(pages);
  const payment = new PaymentPages(pages);

  app.get<ById>('/e/:elicitationId/passkey', (request, reply) =>
    guardGet(request, reply, async visit => payment.showPasskey(request, reply, ofPayment(visit))),
  );
  app.post<ById>('/e/:elicitationId/passkey/new', (request, reply) =>
    guardPost(request, reply, async (visit, form) => payment.addPasskey(request, reply, ofPayment(visit), form)),
  );
  app.post<ById>('/e/:elicitationId/passkey', (request, reply) =>
    guardPost(request, reply, async (visit, form) =>
      payment.approveWithPasskey(request, reply, ofPayment(visit), form),
    ),
  );
  app.get<ById>('/e/:elicitationId/charge', { exposeHeadRoute: false }, (request, reply) =>
    guardGet(request, reply, async visit => payment.checkCharge(request, reply, ofPayment(visit))),
  );
  app.post<ById>('/e/:elicitationId/charge', (request, reply) =>
    guardPost(request, reply, async visit => payment.openCharge(request, reply, ofPayment(visit))),
  );
};

/** @throws NotFoundError for other kinds, which do not have these pages */
function ofPayment(visit: PageVisit): PaymentVisit {
  const { elicitation } = visit;
  if (!isOfKind(elicitation, 'payment')) throw new NotFoundError();
  return { ...visit, elicitation };
}

/** Pages of a payment: the request for approval, the passkey step, the charge, the result. */
export class PaymentPages implements KindPages<'payment'> {
  readonly #pages: PageKit<PaymentPagesDeps>;
  readonly #deps: PaymentPagesDeps;
  readonly #views: PageViews;
  readonly #view: PaymentView;

  constructor(pages: PageKit<PaymentPagesDeps>) {
    this.#pages = pages;
    this.#deps = pages.deps;
    this.#views = pages.views;
    this.#view = new PaymentView(pages);
  }

  async showOpen(request: PageRequest, reply: FastifyReply, visit: PaymentVisit): Promise<FastifyReply> {
    const { elicitation } = visit;
    if (isCharging(elicitation))
      return this.#sendCharge(
        request,
        reply,
        visit,
        elicitation.charge === undefined ? 'processor_unavailable' : undefined,
      );
    const isBack = elicitation.status === 'pending' && elicitation.retryReason === 'payment_not_finished';
    return this.#sendDecision(request, reply, visit, isBack ? 'payment_not_finished' : undefined);
  }

  async showCompleted(
    request: PageRequest,
    reply: FastifyReply,
    { elicitation, browserSession }: CompletedVisitOf<'payment'>,
  ): Promise<FastifyReply> {
    const { outcome } = elicitation;
    if (outcome.kind !== 'payment') throw new TypeError('an outcome of another kind');
    const views = this.#views;
    return reply.send(
      paymentDonePage(views.context(request), {
        mcpServer: views.mcpServer(elicitation),
        payment: this.#view.factsOf(elicitation),
        approvedAt: new Date(outcome.approval.at),
        paid: outcome.processorReference !== undefined,
        ...(await this.#view.cameBack(elicitation)),
        method: outcome.approval.method,
        receiptNumber: views.receiptNumber(elicitation),
        receiptHref: receiptPath(elicitation.elicitationId),
        person: browserSession && views.person(browserSession),
        ...views.wayBack(elicitation, request),
      }),
    );
  }

  async accept(
    request: PageRequest,
    reply: FastifyReply,
    visit: PaymentVisit,
    form: DecisionForm,
  ): Promise<FastifyReply> {
    const { approvals, paymentFlow } = this.#deps;
    const { elicitation, visitor, browserSession } = visit;
    const page = pageOf(visit);
    try {
      const approved = await approvals.approve(elicitation, { visitor, browserSession, shown: form.shown ?? '' });
      switch (approved.result) {
        case 'sign_in_again':
          return this.#sendDecision(request, reply.code(403), visit, 'sign_in_again');
        case 'passkey_needed':
          return reply.redirect(`${page}/passkey`, 303);
        case 'daily_limit_reached':
          return this.#sendDecision(request, reply.code(403), visit, undefined);
        case 'decided':
          // If the processor does not respond, the page offers a retry.
          await paymentFlow.open(approved.elicitation);
          return reply.redirect(page, 303);
      }
    } catch (error) {
      if (error instanceof RequestChangedError)
        return this.#sendDecision(request, reply.code(409), visit, 'terms_changed');
      if (error instanceof DomainError && error.code === 'payment_in_progress') return reply.redirect(page, 303);
      throw error;
    }
  }

  /** The passkey step, if the payment needs it now. */
  async showPasskey(
    request: PageRequest,
    reply: FastifyReply,
    visit: PaymentVisit,
    notice?: 'failed' | 'not_added',
  ): Promise<FastifyReply> {
    const { approvals, passkeyPolicy, passkeyFlow } = this.#deps;
    const { elicitation, browserSession, secret } = visit;
    const views = this.#views;
    const page = pageOf(visit);
    const isNeeded =
      elicitation.status === 'pending' && (await approvals.nextStep(elicitation, browserSession)).step === 'passkey';
    // The payment page shows why: decided, above the daily limit, sign-in required, or no passkey needed.
    if (!isNeeded) return reply.redirect(page, 303);
    const { mode, optionsJson, ceremony } = await passkeyFlow.begin(elicitation, { browserSession, secret });
    const context = views.context(request);
    if (mode === 'register' && passkeyPolicy.mustSignInToAddPasskey(elicitation, browserSession))
      return reply.send(
        passkeySignInPage(context, {
          ...this.#view.stepOf(visit),
          signInHref: views.freshSignInHref(elicitation),
        }),
      );
    const countsFrom = mode === 'assert' ? await passkeyFlow.countsFrom(elicitation) : undefined;
    if (countsFrom !== undefined) return this.#sendPasskeyWait(request, reply, visit, countsFrom);
    return reply.send(
      passkeyPage(context, {
        ...this.#view.stepOf(visit),
        mode,
        optionsJson,
        action: mode === 'register' ? `${page}/passkey/new` : `${page}/passkey`,
        shown: shownTerms(views.shownDigest(elicitation), context.locale),
        ceremony,
        notice,
      }),
    );
  }

  /** Adds the user's first passkey. */
  async addPasskey(
    request: PageRequest,
    reply: FastifyReply,
    visit: PaymentVisit,
    form: DecisionForm,
  ): Promise<FastifyReply> {
    const { service, signInPolicy, passkeyPolicy, passkeyFlow } = this.#deps;
    const { elicitation, visitor, browserSession, secret } = visit;
    service.assertSamePerson(elicitation, visitor);
    const mustSignIn =
      signInPolicy.mustSignInAgain(elicitation, browserSession) ||
      passkeyPolicy.mustSignInToAddPasskey(elicitation, browserSession);
    if (mustSignIn) return reply.redirect(pageOf(visit), 303);
    const registered = await passkeyFlow.register(elicitation, browserSession, { ...passkeyFieldsOf(form), secret });
    return registered.result === 'verified'
      ? reply.redirect(`${pageOf(visit)}/passkey`, 303)
      : this.showPasskey(request, reply.code(422), visit, 'not_added');
  }

  async approveWithPasskey(
    request: PageRequest,
    reply: FastifyReply,
    visit: PaymentVisit,
    form: DecisionForm,
  ): Promise<FastifyReply> {
    const { service, signInPolicy, passkeyFlow, approvals, paymentFlow } = this.#deps;
    const { elicitation, visitor, browserSession, secret } = visit;
    service.assertSamePerson(elicitation, visitor);
    if (elicitation.status !== 'pending' || signInPolicy.mustSignInAgain(elicitation, browserSession))
      return reply.redirect(pageOf(visit), 303);
    const verified = await passkeyFlow.verify(elicitation, { ...passkeyFieldsOf(form), secret });
    if (verified.result === 'too_new')
      return this.#sendPasskeyWait(request, reply.code(403), visit, verified.countsFrom);
    if (verified.result === 'failed') return this.showPasskey(request, reply.code(422), visit, 'failed');
    try {
      const approver = { visitor, browserSession, shown: form.shown ?? '' };
      const approved = await approvals.approve(elicitation, approver, verified);
      // If the daily limit was reached since, the payment page shows it.
      if (approved.result === 'decided') await paymentFlow.open(approved.elicitation);
    } catch (error) {
      // The payment page shows the current terms, and the user decides again.
      if (!(error instanceof RequestChangedError)) throw error;
    }
    return reply.redirect(pageOf(visit), 303);
  }

  /**
   * The processor redirects the browser here. The redirect proves nothing: the gateway asks the processor for the status, as it does after
   * a webhook and in the sweep.
   */
  async checkCharge(request: PageRequest, reply: FastifyReply, visit: PaymentVisit): Promise<FastifyReply> {
    assertNoPrefetch(request);
    const { elicitation } = visit;
    if (!isCharging(elicitation) || elicitation.charge === undefined) return reply.redirect(pageOf(visit), 303);
    const { state } = await this.#deps.paymentFlow.check(elicitation);
    if (state === 'settled') return reply.redirect(pageOf(visit), 303);
    const notice = state === 'unavailable' ? 'processor_unavailable' : state === 'processing' ? state : 'not_paid_yet';
    return this.#sendCharge(request, reply, visit, notice);
  }

  async openCharge(request: PageRequest, reply: FastifyReply, visit: PaymentVisit): Promise<FastifyReply> {
    const { service, paymentFlow } = this.#deps;
    const { elicitation, visitor } = visit;
    service.assertSamePerson(elicitation, visitor);
    if (!isCharging(elicitation)) return reply.redirect(pageOf(visit), 303);
    const opened = await paymentFlow.open(elicitation);
    return opened.state === 'unavailable'
      ? this.#sendCharge(request, reply.code(502), visit, 'processor_unavailable')
      : reply.redirect(pageOf(visit), 303);
  }

  async #sendDecision(
    request: PageRequest,
    reply: FastifyReply,
    visit: PaymentVisit,
    notice: PaymentNotice | undefined,
  ): Promise<FastifyReply> {
    const { elicitation, browserSession } = visit;
    const views = this.#views;
    const context = views.context(request);
    const next = await this.#deps.approvals.nextStep(elicitation, browserSession);
    if (next.step === 'daily_limit_reached') {
      const from = next.from === undefined ? {} : { from: new Date(next.from) };
      return reply.send(dailyLimitPage(context, { ...this.#view.stepOf(visit), ...from }));
    }
    return reply.send(
      paymentPage(context, {
        // The form posts back the digest of the terms that this page shows.
        ...decisionView(this.#pages, visit, shownTerms(views.shownDigest(elicitation), context.locale)),
        payment: this.#view.factsOf(elicitation),
        approval:
          next.step === 'sign_in_again'
            ? { signInAgainHref: views.signInHref(elicitation) }
            : next.step === 'passkey'
              ? await this.#passkeyApproval(visit)
              : 'button',
        notice,
      }),
    );
  }

  /** The ceremony, if the user has a passkey that counts. The other cases have pages of their own, behind the button. */
  async #passkeyApproval(visit: PaymentVisit) {
    const { passkeyFlow } = this.#deps;
    const { elicitation, browserSession, secret } = visit;
    const { mode, optionsJson, ceremony } = await passkeyFlow.begin(elicitation, { browserSession, secret });
    if (mode === 'register' || (await passkeyFlow.countsFrom(elicitation)) !== undefined) return 'passkey';
    return { ceremony: { optionsJson, ceremony, action: `${pageOf(visit)}/passkey` } };
  }

  /** Shows when the user's new passkey will count for this payment. */
  #sendPasskeyWait(request: PageRequest, reply: FastifyReply, visit: PaymentVisit, countsFrom: number): FastifyReply {
    const step = this.#view.stepOf(visit);
    return reply.send(passkeyWaitPage(this.#views.context(request), { ...step, countsFrom: new Date(countsFrom) }));
  }

  /** Shows the status of the charge. */
  #sendCharge(request: PageRequest, reply: FastifyReply, visit: PaymentVisit, notice?: ChargeNotice): FastifyReply {
    return reply.send(chargePage(this.#views.context(request), this.#view.chargeView(visit, notice)));
  }
}

const pageOf = ({ elicitation }: PaymentVisit) => elicitationPath(elicitation.elicitationId);

function passkeyFieldsOf({ ceremony, response }: DecisionForm): { ceremony: string; response: string } {
  if (ceremony === undefined || response === undefined) throw new PageError('bad_request');
  return { ceremony, response };
}

export interface PaymentViewDeps {
  readonly refunds: Refunds;
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
}

/** Converts a stored payment to what its pages show. */
export class PaymentView {
  readonly #deps: PaymentViewDeps;
  readonly #browser: Pick<Browser, 'csrfToken'>;
  readonly #views: PageViews;

  constructor({ deps, browser, views }: PageKit<PaymentViewDeps>) {
    this.#deps = deps;
    this.#browser = browser;
    this.#views = views;
  }

  factsOf({ request, ...elicitation }: ElicitationOf<'payment'>): PaymentFactsView {
    const { payee, amount, items, reference } = request.terms;
    const processor = this.#deps.processors.get(request.processor);
    const charge = elicitation.status === 'active' ? elicitation.charge : undefined;
    const paid =
      elicitation.status === 'completed' && elicitation.outcome.kind === 'payment' ? elicitation.outcome : undefined;
    const mode = paid?.mode ?? charge?.mode ?? (paid === undefined ? processor?.expectedMode : undefined);
    return {
      payeeName: payee.name,
      ...this.#views.payeeNamedBy({ mcpServerId: elicitation.mcpServerId, request }),
      amount: amountView(amount),
      reference,
      ...(mode === 'test' ? { isTest: true } : {}),
      items: items?.map(({ label, quantity, unitMinorUnits }) => ({
        label,
        quantity,
        unit: amountView({ currency: amount.currency, minorUnits: unitMinorUnits }),
        total: amountView({ currency: amount.currency, minorUnits: quantity * unitMinorUnits }),
      })),
      processor: processor && {
        name: processor.displayName,
        // An open charge has a URL, which may differ from the expected host.
        host: charge === undefined ? processor.destinationHost : displayHost(new URL(charge.url)),
      },
    };
  }

  /** What came back of a payment, as its processor has reported it. */
  async cameBack({ elicitationId, outcome, request }: CompletedVisitOf<'payment'>['elicitation']) {
    const reference = outcome.kind === 'payment' ? outcome.processorReference : undefined;
    if (reference === undefined) return {};
    const payment = await this.#deps.refunds.find(elicitationId, reference);
    if (payment === undefined) return {};
    const minorUnits = refundedOf(payment);
    const status = payment.disputes.toSorted((one, other) => other.createdAt - one.createdAt)[0]?.status;
    return {
      refunds: refundViews(payment),
      ...(minorUnits > 0 && { paidBack: amountView({ currency: request.terms.amount.currency, minorUnits }) }),
      ...(status !== undefined && { dispute: status === 'inquiry' ? ('open' as const) : status }),
    };
  }

  /** Members of every page between the decision and the charge. */
  stepOf({ elicitation, browserSession, secret }: VisitOf<'payment'>) {
    const page = elicitationPath(elicitation.elicitationId);
    return {
      mcpServer: this.#views.mcpServer(elicitation),
      payment: this.factsOf(elicitation),
      person: browserSession && this.#views.person(browserSession),
      declineAction: `${page}/decline`,
      backHref: page,
      csrfToken: this.#browser.csrfToken(secret),
    };
  }

  /** Members of the page of an approved payment that the user must pay at the processor. */
  chargeView(
    { elicitation, browserSession, secret }: VisitOf<'payment'>,
    notice: ChargeNotice | undefined,
  ): ChargeView {
    const page = elicitationPath(elicitation.elicitationId);
    const charge = elicitation.status === 'active' ? elicitation.charge : undefined;
    return {
      mcpServer: this.#views.mcpServer(elicitation),
      payment: this.factsOf(elicitation),
      ...(charge === undefined
        ? { continueAction: `${page}/charge` }
        : { continueHref: charge.url, checkHref: `${page}/charge` }),
      declineAction: `${page}/decline`,
      csrfToken: this.#browser.csrfToken(secret),
      expiresAt: new Date(elicitation.expiresAt),
      now: new Date(this.#views.now()),
      watch: watchOf(elicitation, this.#views.now()),
      notice,
      person: browserSession && this.#views.person(browserSession),
    };
  }
}

/** The refunds of a payment, oldest first. None in a currency that this release does not know. */
export function refundViews({ amount, refunds }: Pick<Payment, 'amount' | 'refunds'>): readonly RefundView[] {
  if (decimalsOf(amount.currency) === undefined) return [];
  return refunds
    .map(({ minorUnits, status, createdAt }) => ({
      status,
      requestedAt: new Date(createdAt),
      amount: amountView({ currency: amount.currency, minorUnits }),
    }))
    .toSorted((one, other) => one.requestedAt.getTime() - other.requestedAt.getTime());
}

/** A payment without its elicitation. None in a currency that this release does not know. */
export function paidView(payment: Payment, views: Pick<PageViews, 'mcpServerName'>): readonly PaidView[] {
  const { amount, mode, paidAt, mcpServerId } = payment;
  if (decimalsOf(amount.currency) === undefined) return [];
  const about = { amount: amountView(amount), mcpServerName: views.mcpServerName(mcpServerId) };
  return [{ ...about, paidAt: new Date(paidAt), isTest: mode === 'test', refunds: refundViews(payment) }];
}
