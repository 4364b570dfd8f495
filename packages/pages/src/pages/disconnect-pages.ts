/** The pages for ending a connection: the question and the result. */
import { actionBar } from '../decision-parts.ts';
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, mcpServerList, nameList, newTabLink, postForm, submitButton } from '../parts.ts';
import { timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { ConnectedAccountView, PageContext } from '../views.ts';

/** How long a released access token may stay valid after the end of the connection. */
interface LastingAccessView {
  /** Absent if it has ended; `unknown` if the provider never named an expiry. */
  readonly accessUntil?: Date | 'unknown';
}

export interface DisconnectView extends ConnectedAccountView, LastingAccessView {
  /**
   * The effect at the provider: the gateway asks it to revoke the grant; it offers no revocation; or other connections
   * of this user share the grant, so the grant stays.
   */
  readonly provider: 'revoke' | 'unsupported' | 'shared';
  /** Page of the provider at which the user can end the access; the page shows its host. */
  readonly providerHref?: string;
  /** Target of the POST that disconnects. */
  readonly disconnectAction: string;
  readonly keepHref: string;
  readonly csrfToken: string;
}

/**
 * Asks for confirmation and names the consequences.
 *
 * @throws TypeError when `providerHref` is no web address.
 */
export function disconnectPage(context: PageContext, view: DisconnectView): string {
  const t = translatorFor(context);
  const { providerName: provider, csrfToken } = view;
  const main = html`<h1>${t.html('disconnect.heading', { provider })}</h1>
${accountFacts(view, t)}
<section class="permissions" aria-labelledby="consequences-heading">
<h2 id="consequences-heading">${t.html('disconnect.consequences')}</h2>
<ul class="scopes">${consequences(context, view, t).map(text => html`<li>${text}</li>`)}</ul>
</section>
${actionBar(
  {
    buttons: [
      linkButton(view.keepHref, t.html('disconnect.keep'), 'plain'),
      postForm({ action: view.disconnectAction, csrfToken }, submitButton(t.html('disconnect.confirm'), 'danger')),
    ],
  },
  t,
)}`;
  return layout(context, t, { title: t.plain('disconnect.heading', { provider }), main });
}

function consequences({ branding }: PageContext, view: DisconnectView, t: Translator): Html[] {
  const { providerName: provider } = view;
  const names = { provider, brand: branding.name };
  return [
    ...withoutAccess(view, t),
    t.html('disconnect.deleted', names),
    html`${t.html(`disconnect.${view.provider}`, names)}${atProvider(view, t)}`,
    ...(view.provider === 'revoke' ? [t.html('disconnect.listed', names)] : lastingAccess(view, t)),
    t.html('disconnect.again'),
  ];
}

export interface DisconnectedView extends ConnectedAccountView, LastingAccessView {
  /**
   * The revocations that the provider has confirmed: of all tokens; of the refresh token only; of the access token
   * only; not of all yet; none, because it offers no revocation; or none, because other connections of this user share
   * the grant.
   */
  readonly provider:
    | 'revoked'
    | 'refresh_token_revoked'
    | 'access_token_revoked'
    | 'pending'
    | 'unsupported'
    | 'shared';
  /** Page of the provider at which the user can end the access; the page shows its host. */
  readonly providerHref?: string;
  readonly backHref: string;
}

/**
 * Shows that the connection has ended.
 *
 * @throws TypeError when `providerHref` is no web address.
 */
export function disconnectedPage(context: PageContext, view: DisconnectedView): string {
  const t = translatorFor(context);
  const names = { provider: view.providerName, brand: context.branding.name };
  return messagePage(context, t, {
    title: t.plain('disconnected.heading', names),
    icon: icons.check,
    tone: 'good',
    heading: t.html('disconnected.heading', names),
    texts: [...withoutAccess(view, t), t.html(`disconnected.${view.provider}`, names), ...lastingAccess(view, t)],
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
      mcpServers.length === 0 ? html`<p>${t.html('connection.unused')}</p>` : mcpServerList(mcpServers, t),
    ),
  ]);
}

function withoutAccess({ mcpServers }: ConnectedAccountView, t: Translator): Html[] {
  if (mcpServers.length === 0) return [];
  const names = nameList(
    mcpServers.map(({ name }) => name),
    t,
  );
  return [t.html('disconnect.access', { mcpServers: names, count: mcpServers.length })];
}

function lastingAccess(
  { accessUntil, providerName: provider }: DisconnectView | DisconnectedView,
  t: Translator,
): Html[] {
  if (accessUntil === undefined) return [];
  if (accessUntil === 'unknown') return [t.html('disconnect.untilUnknown', { provider })];
  return [t.html('disconnect.until', { provider, time: timeText(accessUntil, 'moment', t) })];
}

/** Link to the provider, if the user must act there. */
function atProvider(
  { provider, providerHref }: Pick<DisconnectView | DisconnectedView, 'provider' | 'providerHref'>,
  t: Translator,
): Html | undefined {
  if ((provider !== 'unsupported' && provider !== 'access_token_revoked') || providerHref === undefined)
    return undefined;
  return newTabLink(providerHref, t);
}
