import {
  type CompletedElicitation,
  type Elicitation,
  type ElicitationOf,
  isCharging,
  type Kind,
  matchCodeOf,
} from '@postern/elicitation';
import type { DecisionView, WatchView } from '@postern/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { elicitationPath } from '../platform/http/public-urls.ts';
import { type ById, type DecisionForm, type PageVisit, switchAccountAction } from './page-guard.ts';
import type { PageKit } from './page-views.ts';

export type VisitOf<K extends Kind> = PageVisit & { readonly elicitation: ElicitationOf<K> };
export type CompletedVisitOf<K extends Kind> = PageVisit & {
  readonly elicitation: CompletedElicitation & ElicitationOf<K>;
};
export type PageRequest = FastifyRequest<ById>;

/** The pages that differ between kinds. The caller has passed the page guard. */
export interface KindPages<K extends Kind> {
  /** While the elicitation is open: the page that asks for a decision, or the one that continues after it. */
  showOpen(request: PageRequest, reply: FastifyReply, visit: VisitOf<K>): Promise<FastifyReply>;
  /** After completion. */
  showCompleted(request: PageRequest, reply: FastifyReply, visit: CompletedVisitOf<K>): Promise<FastifyReply>;
  /** Handles the accept button. */
  accept(request: PageRequest, reply: FastifyReply, visit: VisitOf<K>, form: DecisionForm): Promise<FastifyReply>;
}

/** The part of a decision page that all kinds share. */
export function decisionView(
  { browser, views }: Pick<PageKit<unknown>, 'browser' | 'views'>,
  { elicitation, browserSession, secret }: PageVisit,
  shown: string,
): DecisionView & { readonly shown: string } {
  const { elicitationId } = elicitation;
  const path = elicitationPath(elicitationId);
  return {
    mcpServer: views.mcpServer(elicitation),
    ...views.manageHref(elicitation),
    person: browserSession && views.person(browserSession),
    switchAccountAction: browserSession && switchAccountAction(elicitationId),
    message: elicitation.message,
    requestedBy: elicitation.requestedBy,
    matchCode: matchCodeOf(elicitationId),
    expiresAt: new Date(elicitation.expiresAt),
    now: new Date(views.now()),
    acceptAction: `${path}/accept`,
    declineAction: `${path}/decline`,
    csrfToken: browser.csrfToken(secret),
    watch: watchOf(elicitation, views.now()),
    shown,
  };
}

/** Returns what the page of an elicitation is about. When this changes, a page in a browser is out of date. */
export function pagePhase(elicitation: Elicitation, now: number): string {
  const { status, expiresAt } = elicitation;
  if (status !== 'pending' && status !== 'active') return status;
  if (isCharging(elicitation)) return 'charge';
  return expiresAt <= now ? 'expired' : 'decision';
}

/** Lets the page of an elicitation find out that it is out of date. */
export function watchOf(elicitation: Elicitation, now: number): WatchView {
  const pageHref = elicitationPath(elicitation.elicitationId);
  return { pageHref, statusHref: `${pageHref}/status`, phase: pagePhase(elicitation, now) };
}
