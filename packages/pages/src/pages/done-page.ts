import { html, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, scopeList } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, ProviderView, ScopeView } from '../views.ts';
import { type WayBackView, wayBack } from '../way-back.ts';

export interface DoneView extends ProviderView, WayBackView {
  readonly mcpServer: McpServerView;
  /** The connected account, as the provider names it. */
  readonly accountName?: string;
  /** Granted scopes, possibly fewer than requested. */
  readonly scopes: readonly ScopeView[];
  /** Page on which the user can see and end their connections. */
  readonly connectionsHref?: string;
}

/** Shows that the account is connected. */
export function donePage(context: PageContext, view: DoneView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const mcpServer = view.mcpServer.name;
  const provider = view.providerName;
  const account =
    view.accountName === undefined
      ? undefined
      : facts([fact(t.html('done.account'), html`<span class="value" translate="no">${view.accountName}</span>`)]);
  const granted =
    view.scopes.length === 0
      ? undefined
      : html`<section class="permissions granted" aria-labelledby="permissions-heading">
<h2 id="permissions-heading">${t.html('done.scopes', { mcpServer })}</h2>
${scopeList(view.scopes, t)}
</section>`;
  const later =
    view.connectionsHref === undefined
      ? undefined
      : html`<p><a class="link" href="${webUrl(view.connectionsHref)}">${t.html('done.connections')}</a></p>`;
  return messagePage(context, t, {
    title: t.plain('done.heading', { provider }),
    icon: icons.check,
    tone: 'good',
    heading: t.html('done.heading', { provider }),
    texts: [back.text],
    body: html`${account}${granted}${later}`,
    actions: back.actions,
  });
}
