/** Ending a connection: the question, and what became of it. */
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, mcpServerList, nameList, newTabLink, postForm, submitButton } from '../parts.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { ConnectedAccountView, PageContext } from '../views.ts';

export interface DisconnectView extends ConnectedAccountView {
  /**
   * What it will mean at the provider: it is told; it offers no way to be told; or the same access serves other connections
   * of this person and stays for them.
   */
  readonly provider: 'revoke' | 'unsupported' | 'shared';
  /** Where the person can end the access at the provider; its host is shown. */
  readonly providerHref?: string;
  /** Takes the POST that disconnects. */
  readonly disconnectAction: string;
  readonly keepHref: string;
  readonly csrfToken: string;
}

/**
 * Asks before anything ends, and says what will.
 *
 * @throws TypeError when `providerHref` is no web address.
 */
export function disconnectPage(context: PageContext, view: DisconnectView): string {
  const t = translatorFor(context.locale);
  const { providerName: provider, csrfToken } = view;
  const main = html`<h1>${t.html('disconnect.heading', { provider })}</h1>
${accountFacts(view, t)}
<section class="permissions" aria-labelledby="consequences-heading">
<h2 id="consequences-heading">${t.html('disconnect.consequences')}</h2>
<ul class="scopes">${consequences(context, view, t).map(text => html`<li>${text}</li>`)}</ul>
</section>
<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}">
${linkButton(view.keepHref, t.html('disconnect.keep'), 'plain')}
${postForm({ action: view.disconnectAction, csrfToken }, submitButton(t.html('disconnect.confirm'), 'accent'))}
</div>`;
  return layout(context, t, { title: t.plain('disconnect.heading', { provider }), main });
}

function consequences({ branding }: PageContext, view: DisconnectView, t: Translator): Html[] {
  const { providerName: provider } = view;
  const names = { provider, brand: branding.name };
  return [
    ...withoutAccess(view, t),
    t.html('disconnect.deleted', names),
    html`${t.html(`disconnect.${view.provider}`, names)}${atProvider(view, t)}`,
    ...(view.provider === 'revoke' ? [t.html('disconnect.listed', names)] : []),
    t.html('disconnect.again'),
  ];
}

export interface DisconnectedView extends ConnectedAccountView {
  /**
   * What became of it at the provider: it ended the access; it is told as soon as it answers; it offers no way to be told;
   * or the same access serves other connections of this person.
   */
  readonly provider: 'revoked' | 'pending' | 'unsupported' | 'shared';
  /** Where the person can end the access at the provider; its host is shown. */
  readonly providerHref?: string;
  readonly backHref: string;
}

/**
 * A connection was ended.
 *
 * @throws TypeError when `providerHref` is no web address.
 */
export function disconnectedPage(context: PageContext, view: DisconnectedView): string {
  const t = translatorFor(context.locale);
  const names = { provider: view.providerName, brand: context.branding.name };
  return messagePage(context, t, {
    title: t.plain('disconnected.heading', names),
    icon: icons.check,
    tone: 'good',
    heading: t.html('disconnected.heading', names),
    texts: [...withoutAccess(view, t), t.html(`disconnected.${view.provider}`, names)],
    actions: [html`${atProvider(view, t)}`, linkButton(view.backHref, t.html('disconnected.back'), 'plain')],
  });
}

function accountFacts({ accountName, mcpServers }: ConnectedAccountView, t: Translator): Html {
  return facts([
    accountName === undefined
      ? undefined
      : fact(t.html('done.account'), html`<span class="value" translate="no">${accountName}</span>`),
    fact(
      t.html('connection.users'),
      mcpServers.length === 0 ? html`<p>${t.html('connection.unused')}</p>` : mcpServerList(mcpServers),
    ),
  ]);
}

function withoutAccess({ mcpServers }: ConnectedAccountView, t: Translator): Html[] {
  if (mcpServers.length === 0) return [];
  const names = nameList(
    mcpServers.map(({ name }) => name),
    t,
  );
  return [t.html('disconnect.access', { mcpServers: names })];
}

/** The way to the provider, where the person has something to do there. */
function atProvider(
  { provider, providerHref }: Pick<DisconnectView | DisconnectedView, 'provider' | 'providerHref'>,
  t: Translator,
): Html | undefined {
  if (provider !== 'unsupported' || providerHref === undefined) return undefined;
  return newTabLink(providerHref, t);
}
