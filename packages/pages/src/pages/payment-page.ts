import { amountHtml, amountText } from '../amounts.ts';
import type { PaymentFactsView, SignInAgain } from '../approval-views.ts';
import { type DecisionKind, type DecisionView, decisionPage } from '../decision-page.ts';
import { toward } from '../decision-parts.ts';
import { type Html, html } from '../html.ts';
import { namedMark } from '../marks.ts';
import { operatorNotice } from '../parts.ts';
import { type CeremonyView, ceremonyForm } from '../passkey-ceremony-form.ts';
import { paymentFacts, priceTag } from '../payment-facts.ts';
import { shortName } from '../text-width.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

/** Result of the last attempt, if the user has to decide again. None of the attempts charged anything. */
export type PaymentNotice =
  | 'sign_in_again'
  /** The digest from the form differs from the stored request. */
  | 'terms_changed'
  | 'payment_not_finished'
  | 'processor_unavailable'
  | 'passkey_failed';

/** The ceremony with which the user's passkey approves the payment on this page. */
interface PasskeyApproval {
  readonly ceremony: Pick<CeremonyView, 'optionsJson' | 'action' | 'ceremony'>;
}

export interface PaymentView extends DecisionView {
  readonly payment: PaymentFactsView;
  /**
   * What an approval requires: only the button; a first passkey, on pages after it; the user's passkey, at once; or a fresh
   * sign-in before it.
   */
  readonly approval: 'button' | 'passkey' | PasskeyApproval | SignInAgain;
  /** The digest of the terms on this page. */
  readonly shown: string;
  readonly notice?: PaymentNotice;
}

/** Asks the user to approve a payment. */
export function paymentPage(context: PageContext, view: PaymentView): string {
  const t = translatorFor(context);
  const { payment } = view;
  const mcpServer = view.mcpServer.name;
  const { processor } = payment;
  const amount = amountText(payment.amount, t);
  return decisionPage(context, t, view, {
    title: t.plain('payment.heading', { mcpServer, amount }),
    heading: t.html('payment.ask', { mcpServer }),
    headingText: t.plain('payment.ask', { mcpServer }),
    counterpart: namedMark(payment.payeeName),
    amount: priceTag(payment, t),
    notice: view.notice && html`<p>${noticeText(context, view.notice, payment, t)}</p>`,
    facts: paymentFacts(payment, t),
    aboveButtons: processor && toward(processor.host, t),
    ...acceptance(view, t),
    waitsForOperator: view.notice === 'processor_unavailable' && context.operatorReference !== undefined,
    reassurance:
      processor === undefined
        ? t.html('payment.reassuranceDirect', { mcpServer: shortName(mcpServer) })
        : t.html('payment.reassuranceProcessor', { processor: shortName(processor.name) }),
  });
}

/** Maximum length of an amount on the button. The page shows every amount large, below the heading. */
const maxButtonAmount = 16;

function acceptance(
  { approval, payment: { amount }, csrfToken, shown }: PaymentView,
  t: Translator,
): Pick<DecisionKind, 'acceptLabel' | 'acceptHref' | 'acceptCeremony' | 'aboutAccept'> {
  switch (approval) {
    case 'button':
      return {
        acceptLabel:
          amountText(amount, t).length <= maxButtonAmount
            ? t.html('payment.approve', { amount: amountHtml(amount, t) })
            : t.html('payment.accept'),
      };
    case 'passkey':
      return { acceptLabel: t.html('payment.acceptWithPasskey'), aboutAccept: t.html('payment.passkeyWhy') };
    default: {
      if (!('ceremony' in approval)) return signingInAgain(approval, t);
      const acceptLabel = t.html('payment.acceptWithPasskey');
      const ceremony = { ...approval.ceremony, mode: 'assert', csrfToken, shown } as const;
      return {
        acceptLabel,
        acceptCeremony: (label, look) => ceremonyForm(ceremony, { label, look, texts: 'passkey' }, t),
      };
    }
  }
}

function signingInAgain(approval: SignInAgain, t: Translator) {
  return {
    acceptLabel: t.html('approval.signInAgain'),
    acceptHref: approval.signInAgainHref,
    aboutAccept: t.html('approval.signInAgainWhy'),
  };
}

function noticeText(context: PageContext, notice: PaymentNotice, { processor }: PaymentFactsView, t: Translator): Html {
  switch (notice) {
    case 'sign_in_again':
    case 'terms_changed':
      return t.html(`approval.notice.${notice}`);
    case 'processor_unavailable':
      return (
        operatorNotice(context, t) ??
        (processor === undefined
          ? t.html('payment.notice.processor_unavailableUnnamed')
          : t.html('payment.notice.processor_unavailable', { processor: shortName(processor.name) }))
      );
    case 'payment_not_finished':
    case 'passkey_failed':
      return t.html(`payment.notice.${notice}`);
  }
}
