import { type Amount, type ElicitationOf, type Payment, refundedOf } from '@postern/elicitation';
import {
  type AmountView,
  type ChargeNotice,
  type ChargeView,
  displayHost,
  type PaidView,
  type PaymentFactsView,
  type RefundView,
} from '@postern/pages';
import { decimalsOf, type PaymentProcessor } from '@postern/payment';
import type { CompletedVisitOf, VisitOf } from '../pages/kind-pages.ts';
import type { PageKit } from '../pages/page-kit.ts';
import { watchOf } from '../pages/page-phase.ts';
import type { PageViews } from '../pages/page-views.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import type { RefundFlow } from './refund-flow.ts';

/** @throws TypeError for an unknown currency, which the API never accepts */
export function amountView({ currency, minorUnits }: Amount): AmountView {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) throw new TypeError('a currency without a minor unit');
  return { currency, minorUnits, decimals };
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

export interface PaymentViewDeps {
  readonly refundFlow: Pick<RefundFlow, 'find'>;
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
}

/** Converts a stored payment to what its pages show. */
export function createPaymentView({ deps, browser, views }: PageKit<PaymentViewDeps>) {
  function factsOf({ request, ...elicitation }: ElicitationOf<'payment'>): PaymentFactsView {
    const { payee, amount, items, reference } = request.terms;
    const processor = deps.processors.get(request.processor);
    const charge = elicitation.status === 'active' ? elicitation.charge : undefined;
    const paid =
      elicitation.status === 'completed' && elicitation.outcome.kind === 'payment' ? elicitation.outcome : undefined;
    const mode = paid?.mode ?? charge?.mode ?? (paid === undefined ? processor?.expectedMode : undefined);
    return {
      payeeName: payee.name,
      ...views.payeeNamedBy({ mcpServerId: elicitation.mcpServerId, request }),
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

  return {
    factsOf,

    /** What came back of a payment, as its processor has reported it. */
    async cameBack({ elicitationId, outcome, request }: CompletedVisitOf<'payment'>['elicitation']) {
      const reference = outcome.kind === 'payment' ? outcome.processorReference : undefined;
      if (reference === undefined) return {};
      const payment = await deps.refundFlow.find(elicitationId, reference);
      if (payment === undefined) return {};
      const minorUnits = refundedOf(payment);
      const status = payment.disputes.toSorted((one, other) => other.createdAt - one.createdAt)[0]?.status;
      return {
        refunds: refundViews(payment),
        ...(minorUnits > 0 && { paidBack: amountView({ currency: request.terms.amount.currency, minorUnits }) }),
        ...(status !== undefined && { dispute: status === 'inquiry' ? ('open' as const) : status }),
      };
    },

    /** Members of every page between the decision and the charge. */
    stepOf({ elicitation, browserSession, secret }: VisitOf<'payment'>) {
      const page = elicitationPath(elicitation.elicitationId);
      return {
        mcpServer: views.mcpServer(elicitation),
        payment: factsOf(elicitation),
        person: browserSession && views.person(browserSession),
        declineAction: `${page}/decline`,
        backHref: page,
        csrfToken: browser.csrfToken(secret),
      };
    },

    /** Members of the page of an approved payment that the user must pay at the processor. */
    chargeView(
      { elicitation, browserSession, secret }: VisitOf<'payment'>,
      notice: ChargeNotice | undefined,
    ): ChargeView {
      const page = elicitationPath(elicitation.elicitationId);
      const charge = elicitation.status === 'active' ? elicitation.charge : undefined;
      return {
        mcpServer: views.mcpServer(elicitation),
        payment: factsOf(elicitation),
        ...(charge === undefined
          ? { continueAction: `${page}/charge` }
          : { continueHref: charge.url, checkHref: `${page}/charge` }),
        declineAction: `${page}/decline`,
        csrfToken: browser.csrfToken(secret),
        expiresAt: new Date(elicitation.expiresAt),
        now: new Date(views.now()),
        watch: watchOf(elicitation, views.now()),
        notice,
        person: browserSession && views.person(browserSession),
      };
    },
  };
}
