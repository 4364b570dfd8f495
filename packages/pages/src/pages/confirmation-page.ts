import type { ConfirmationFactsView, SignInAgain } from '../approval-views.ts';
import { confirmationFacts } from '../confirmation-facts.ts';
import { type DecisionView, decisionPage } from '../decision-page.ts';
import { html } from '../html.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface ConfirmationView extends DecisionView {
  readonly confirmation: ConfirmationFactsView;
  readonly approval: 'button' | SignInAgain;
  /** The digest of the terms on this page. */
  readonly shown: string;
  readonly notice?: 'sign_in_again' | 'terms_changed';
}

/** Asks the user for a binding confirmation. */
export function confirmationPage(context: PageContext, view: ConfirmationView): string {
  const t = translatorFor(context);
  const mcpServer = view.mcpServer.name;
  const acceptance =
    view.approval === 'button'
      ? { acceptLabel: t.html('confirmation.accept') }
      : {
          acceptLabel: t.html('approval.signInAgainConfirm'),
          acceptHref: view.approval.signInAgainHref,
          aboutAccept: t.html('approval.signInAgainConfirmWhy'),
        };
  return decisionPage(context, t, view, {
    title: t.plain('confirmation.heading', { mcpServer }),
    heading: t.html('confirmation.heading', { mcpServer }),
    notice: view.notice && html`<p>${t.html(`confirmation.notice.${view.notice}`)}</p>`,
    facts: confirmationFacts(view.confirmation, { label: t.html('confirmation.label'), mcpServer }, t),
    ...acceptance,
    reassurance: t.html('confirmation.reassurance', { mcpServer }),
  });
}
