import { matchCodeOf } from '@postern/elicitation';
import type { DecisionView } from '@postern/pages';
import type { PageDeps } from './page-routes.ts';
import { type Present, switchAction } from './presence.ts';

/** What every page says that asks for a decision, whatever its kind. */
export function createDecisionView({ browser, views }: Pick<PageDeps, 'browser' | 'views'>) {
  return function decisionView(
    { elicitation, browserSession, secret }: Present,
    shown: string,
  ): DecisionView & { readonly shown: string } {
    const { elicitationId } = elicitation;
    const path = `/e/${elicitationId}`;
    return {
      mcpServer: views.mcpServer(elicitation),
      ...(browserSession === undefined
        ? {}
        : { person: views.person(browserSession), switchAccountAction: switchAction(elicitationId) }),
      ...(elicitation.message === undefined ? {} : { message: elicitation.message }),
      ...(elicitation.requestedBy === undefined ? {} : { requestedBy: elicitation.requestedBy }),
      matchCode: matchCodeOf(elicitationId),
      expiresAt: new Date(elicitation.expiresAt),
      now: new Date(views.now()),
      acceptAction: `${path}/accept`,
      declineAction: `${path}/decline`,
      csrfToken: browser.csrfToken(secret),
      shown,
    };
  };
}

export type CreateDecisionView = ReturnType<typeof createDecisionView>;
