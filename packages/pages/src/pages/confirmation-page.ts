import type { ConfirmationFactsView, SignInAgain } from '../approval-views.ts';
import { actionLabel, confirmationFacts } from '../confirmation-facts.ts';
import { type DecisionView, decisionPage } from '../decision-page.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { iconMark } from '../parts.ts';
import { shortName } from '../text-width.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface ConfirmationView extends DecisionView {
  readonly confirmation: ConfirmationFactsView;
  readonly approval: 'button' | SignInAgain;
  /** The digest of the terms on this page. */
  readonly shown: string;
  readonly notice?: 'sign_in_again' | 'terms_changed';
}

/**
 * The MCP server chooses the danger, a typed value, and with it one of our sentences. Its own words never become a heading, and on a
 * button they follow our verb.
 */
const looks = {
  normal: { heading: 'confirmation.heading', accept: 'confirmation.accept', icon: icons.check, tone: undefined },
  caution: {
    heading: 'confirmation.headingCaution',
    accept: 'confirmation.accept',
    icon: icons.alert,
    tone: 'caution',
  },
  destructive: {
    heading: 'confirmation.headingDestructive',
    accept: 'confirmation.acceptDestructive',
    icon: icons.warning,
    tone: 'danger',
  },
} as const;

/** Asks the user for a binding confirmation. */
export function confirmationPage(context: PageContext, view: ConfirmationView): string {
  const t = translatorFor(context);
  const mcpServer = view.mcpServer.name;
  const { danger } = view.confirmation;
  const look = looks[danger];
  const acceptance =
    view.approval === 'button'
      ? { acceptLabel: actionLabel(view.confirmation, t) ?? t.html(look.accept) }
      : {
          acceptLabel: t.html('approval.signInAgainConfirm'),
          acceptHref: view.approval.signInAgainHref,
          aboutAccept: t.html('approval.signInAgainConfirmWhy'),
        };
  return decisionPage(context, t, view, {
    title: t.plain(look.heading, { mcpServer }),
    heading: t.html(look.heading, { mcpServer }),
    counterpart: iconMark(look.icon, look.tone),
    tone: look.tone,
    notice: view.notice && html`<p>${t.html(`confirmation.notice.${view.notice}`)}</p>`,
    facts: confirmationFacts(view.confirmation, { label: t.html('confirmation.label'), mcpServer }, t),
    ...acceptance,
    reassurance: t.html('confirmation.reassurance', { mcpServer: shortName(mcpServer) }),
  });
}
