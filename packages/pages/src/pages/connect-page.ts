import { type DecisionView, decisionPage } from '../decision-page.ts';
import { toward } from '../decision-parts.ts';
import type { ForeignText } from '../foreign-text.ts';
import { type Html, html } from '../html.ts';
import { providerMark } from '../marks.ts';
import { factBeside, hostText, operatorNotice, paragraphs } from '../parts.ts';
import { missingPermissions, permissions, riskSummary } from '../permissions.ts';
import { maxButtonHost, shortName, widthOf } from '../text-width.ts';
import { timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { AuthorizationView, PageContext, ScopeView } from '../views.ts';

/** Result of the last attempt, if the user has to decide again. */
export type ConnectNotice =
  | 'provider_denied'
  | 'provider_unavailable'
  | 'provider_refused'
  | 'wrong_account'
  | 'start_again'
  /** The provider granted fewer scopes than needed; see `missing`. */
  | 'fewer_scopes'
  /** The request has changed since the page was shown. */
  | 'scopes_changed';

export interface ConnectView extends DecisionView {
  readonly authorization: AuthorizationView;
  readonly notice?: ConnectNotice;
  /** With the notice `fewer_scopes`. */
  readonly missing?: readonly ScopeView[];
}

/** Asks the user whether an MCP server may use their account at a provider. */
export function connectPage(context: PageContext, view: ConnectView): string {
  const t = translatorFor(context);
  const { authorization, notice, missing = [] } = view;
  const names = { mcpServer: view.mcpServer.name, provider: authorization.providerName };
  const inSentences = { mcpServer: shortName(names.mcpServer), provider: shortName(names.provider) };
  const { reconnect, destinationHost: host, scopes } = authorization;
  const isShortHost = widthOf(host) <= maxButtonHost;
  return decisionPage(context, t, view, {
    title: t.plain('connect.heading', names),
    heading: t.html('connect.heading', names),
    counterpart: providerMark(authorization),
    lead: reconnect && reconnectText(reconnect, inSentences, t),
    notice: notice && noticeBlock(context, notice, inSentences, t),
    glance:
      scopes.length === 0
        ? html`<p class="unnamed">${t.html('connect.scopesUnnamed', inSentences)}</p>`
        : riskSummary(scopes, (notice ?? reconnect ?? context.passkeysChangedAt) !== undefined, t),
    facts: html`${notice === 'fewer_scopes' ? missingPermissions(missing, t) : undefined}${permissions(scopes, t)}`,
    resource: resourceFact(authorization, t),
    aboveButtons: isShortHost ? undefined : toward(host, t),
    acceptLabel: isShortHost ? t.html('connect.continue', { host: hostText(host) }) : t.html('connect.accept'),
    waitsForOperator: isFailure(notice) && context.operatorReference !== undefined,
    reassurance: t.html('connect.reassurance', inSentences),
  });
}

function reconnectText(
  { reason, connectedAt }: NonNullable<AuthorizationView['reconnect']>,
  names: { mcpServer: ForeignText; provider: string },
  t: Translator,
): Html {
  return t.html(`connect.again.${reason}`, { ...names, date: timeText(connectedAt, 'day', t) });
}

function resourceFact({ resourceHost }: AuthorizationView, t: Translator): Html | undefined {
  if (resourceHost === undefined) return undefined;
  const host = html`<span class="value">${hostText(resourceHost)}</span>`;
  return factBeside(t.html('connect.resource'), host);
}

function noticeBlock(
  context: PageContext,
  notice: ConnectNotice,
  names: { mcpServer: ForeignText; provider: string },
  t: Translator,
): Html {
  return paragraphs([(isFailure(notice) ? operatorNotice(context, t) : undefined) ?? noticeText(notice, names, t)]);
}

const isFailure = (notice: ConnectNotice | undefined): boolean =>
  notice === 'provider_unavailable' || notice === 'provider_refused';

function noticeText(notice: ConnectNotice, names: { mcpServer: ForeignText; provider: string }, t: Translator): Html {
  switch (notice) {
    case 'provider_denied':
      return t.html('connect.providerDenied', names);
    case 'provider_unavailable':
      return t.html('connect.providerUnavailable', names);
    case 'provider_refused':
      return t.html('connect.providerRefused', names);
    case 'wrong_account':
      return t.html('connect.wrongAccount', names);
    case 'start_again':
      return t.html('connect.startAgain');
    case 'fewer_scopes':
      return t.html('connect.fewerScopes', names);
    case 'scopes_changed':
      return t.html('connect.scopesChanged', names);
  }
}
