import { type DecisionView, decisionPage } from '../decision-page.ts';
import { type Html, html } from '../html.ts';
import { scopeList } from '../parts.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { AuthorizationView, PageContext } from '../views.ts';

/** What happened on the last try, when the person is asked again. */
export type ConnectNotice =
  | 'provider_denied'
  | 'provider_unavailable'
  | 'provider_refused'
  | 'wrong_account'
  | 'start_again';

export interface ConnectView extends DecisionView {
  readonly authorization: AuthorizationView;
  readonly notice?: ConnectNotice;
}

/** Asks whether an MCP server may use the person's account at a provider. */
export function connectPage(context: PageContext, view: ConnectView): string {
  const t = translatorFor(context.locale);
  const mcpServer = view.mcpServer.name;
  const provider = view.authorization.providerName;
  return decisionPage(context, t, view, {
    title: t.plain('connect.heading', { mcpServer, provider }),
    heading: t.html('connect.heading', { mcpServer, provider }),
    ...(view.notice === undefined ? {} : { notice: noticeText(view.notice, provider, t) }),
    facts: permissions(view.authorization, t),
    destinationHost: view.authorization.destinationHost,
    acceptLabel: t.html('connect.accept'),
    reassurance: t.html('connect.reassurance', { provider }),
  });
}

function permissions({ providerName, scopes }: AuthorizationView, t: Translator): Html {
  if (scopes.length === 0) {
    return html`<p class="unnamed">${t.html('connect.scopesUnnamed', { provider: providerName })}</p>`;
  }
  return html`<section class="permissions" aria-labelledby="permissions-heading">
<h2 id="permissions-heading">${t.html('connect.scopes')}</h2>
${scopeList(scopes, t)}
</section>`;
}

function noticeText(notice: ConnectNotice, provider: string, t: Translator): Html {
  switch (notice) {
    case 'provider_denied':
      return t.html('connect.providerDenied', { provider });
    case 'provider_unavailable':
      return t.html('connect.providerUnavailable', { provider });
    case 'provider_refused':
      return t.html('connect.providerRefused', { provider });
    case 'wrong_account':
      return t.html('connect.wrongAccount', { provider });
    case 'start_again':
      return t.html('connect.startAgain');
  }
}
