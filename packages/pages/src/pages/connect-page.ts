import { type DecisionView, decisionPage } from '../decision-page.ts';
import { type Html, html } from '../html.ts';
import { factBeside, hostText, knownScopeList, operatorNotice, paragraphs, scopeList } from '../parts.ts';
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
  const mcpServer = view.mcpServer.name;
  const provider = view.authorization.providerName;
  const { reconnect } = view.authorization;
  return decisionPage(context, t, view, {
    title: t.plain('connect.heading', { mcpServer, provider }),
    heading: t.html('connect.heading', { mcpServer, provider }),
    lead: reconnect && reconnectText(reconnect, { mcpServer, provider }, t),
    notice: view.notice && noticeBlock(context, view.notice, view, t),
    facts: permissions(view.authorization, t),
    resource: resourceFact(view.authorization, t),
    destinationHost: view.authorization.destinationHost,
    acceptLabel: t.html('connect.accept'),
    reassurance: t.html('connect.reassurance', { provider }),
  });
}

function reconnectText(
  { reason, connectedAt }: NonNullable<AuthorizationView['reconnect']>,
  names: { mcpServer: string; provider: string },
  t: Translator,
): Html {
  return t.html(`connect.again.${reason}`, { ...names, date: timeText(connectedAt, 'day', t) });
}

function resourceFact({ resourceHost }: AuthorizationView, t: Translator): Html | undefined {
  if (resourceHost === undefined) return undefined;
  const host = html`<span class="value">${hostText(resourceHost)}</span>`;
  return factBeside(t.html('connect.resource'), host);
}

/** New scopes come first and are never collapsed. */
function permissions({ providerName, scopes }: AuthorizationView, t: Translator): Html {
  if (scopes.length === 0) {
    return html`<p class="unnamed">${t.html('connect.scopesUnnamed', { provider: providerName })}</p>`;
  }
  const { fresh = [], known = [] } = Object.groupBy(scopes, scope => (scope.isNew === true ? 'fresh' : 'known'));
  if (fresh.length === 0 || known.length === 0) {
    return html`<section class="permissions" aria-labelledby="permissions-heading">
<h2 id="permissions-heading">${t.html('connect.scopes')}</h2>
${scopeList(scopes, t)}
</section>`;
  }
  return html`<section class="permissions fresh" aria-labelledby="permissions-heading">
<h2 id="permissions-heading">${t.html('connect.newScopes')}</h2>
${scopeList(fresh, t)}
</section>
<section class="permissions known" aria-labelledby="known-heading">
<h2 id="known-heading">${t.html('connect.knownScopes')}</h2>
${knownScopeList(known, t)}
</section>`;
}

function noticeBlock(
  context: PageContext,
  notice: ConnectNotice,
  { mcpServer, authorization, missing = [] }: ConnectView,
  t: Translator,
): Html {
  const isFailure = notice === 'provider_unavailable' || notice === 'provider_refused';
  const names = { mcpServer: mcpServer.name, provider: authorization.providerName };
  const text = paragraphs([(isFailure ? operatorNotice(context, t) : undefined) ?? noticeText(notice, names, t)]);
  if (notice !== 'fewer_scopes' || missing.length === 0) return text;
  return html`${text}<p class="missing">${t.html('connect.missing')}</p>${scopeList(missing, t)}`;
}

function noticeText(notice: ConnectNotice, names: { mcpServer: string; provider: string }, t: Translator): Html {
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
