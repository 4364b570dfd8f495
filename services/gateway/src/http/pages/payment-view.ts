import type { Amount, ElicitationOf } from '@postern/elicitation';
import {
  type AmountView,
  type ChargeNotice,
  type ChargeView,
  displayHost,
  type PaymentFactsView,
} from '@postern/pages';
import { decimalsOf } from '@postern/payment';
import type { PresentOf } from './kinds/kind-pages.ts';
import type { PageDeps } from './page-routes.ts';

/** @throws TypeError for a currency that nobody could have been asked to pay in */
export function amountView({ currency, minorUnits }: Amount): AmountView {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) throw new TypeError('a currency without a minor unit');
  return { currency, minorUnits, decimals };
}

/** The stored terms of a payment, as its pages show them. */
export function createPaymentView({ deps, browser, views }: PageDeps) {
  function factsOf({ request, ...elicitation }: ElicitationOf<'payment'>): PaymentFactsView {
    const { payee, amount, items, reference } = request.terms;
    const processor = deps.processors.get(request.processor);
    const charge = elicitation.status === 'active' ? elicitation.charge : undefined;
    const paid =
      elicitation.status === 'completed' && elicitation.outcome.kind === 'payment' ? elicitation.outcome : undefined;
    const mode = paid?.mode ?? charge?.mode ?? (paid === undefined ? processor?.expectedMode : undefined);
    return {
      payeeName: payee.name,
      amount: amountView(amount),
      ...(items === undefined
        ? {}
        : {
            items: items.map(({ label, quantity, unitMinorUnits }) => ({
              label,
              quantity,
              unit: amountView({ currency: amount.currency, minorUnits: unitMinorUnits }),
              total: amountView({ currency: amount.currency, minorUnits: quantity * unitMinorUnits }),
            })),
          }),
      reference,
      ...(mode === 'test' ? { isTest: true } : {}),
      ...(processor === undefined
        ? {}
        : {
            processor: {
              name: processor.displayName,
              // Once there is an address, the page names where it leads, whatever was expected before.
              host: charge === undefined ? processor.destinationHost : displayHost(new URL(charge.url)),
            },
          }),
    };
  }

  return {
    factsOf,

    /** Approved here, to be paid at the processor. */
    chargeView(
      { elicitation, browserSession, secret }: PresentOf<'payment'>,
      notice: ChargeNotice | undefined,
    ): ChargeView {
      const page = `/e/${elicitation.elicitationId}`;
      const charge = elicitation.status === 'active' ? elicitation.charge : undefined;
      return {
        mcpServer: views.mcpServer(elicitation),
        payment: factsOf(elicitation),
        ...(browserSession === undefined ? {} : { person: views.person(browserSession) }),
        ...(charge === undefined
          ? { continueAction: `${page}/charge` }
          : { continueHref: charge.url, checkHref: `${page}/charge` }),
        declineAction: `${page}/decline`,
        csrfToken: browser.csrfToken(secret),
        expiresAt: new Date(elicitation.expiresAt),
        now: new Date(views.now()),
        ...(notice === undefined ? {} : { notice }),
      };
    },
  };
}
