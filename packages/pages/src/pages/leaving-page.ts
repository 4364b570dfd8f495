import { displayHost } from '../display-host.ts';
import { html } from '../html.ts';
import { layout } from '../layout.ts';
import { asker, destination, facts, hostText, linkButton, paragraphs } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, ProviderView } from '../views.ts';

export interface LeavingView extends ProviderView {
  readonly mcpServer: McpServerView;
  /** In the form of `displayHost`. */
  readonly destinationHost: string;
  /** The provider's address, or a path on our own origin that redirects to it. */
  readonly continueHref: string;
  /** Link back to the decision, which is still open. */
  readonly backHref: string;
}

/**
 * The page between our form and the provider. It contains a link, because `form-action 'self'` blocks a redirect after
 * a form post (security.md T25).
 *
 * @throws TypeError when the link leads to another host than the page names.
 */
export function leavingPage(context: PageContext, view: LeavingView): string {
  const t = translatorFor(context);
  const { destinationHost, providerName: provider } = view;
  const target = URL.parse(view.continueHref);
  if (target !== null && displayHost(target) !== destinationHost) {
    throw new TypeError('the link leads to another host than the page names');
  }
  const main = html`${asker(view.mcpServer, t)}
<h1>${t.html('leaving.heading', { provider })}</h1>
<div class="lead">${paragraphs([t.html('leaving.text', { provider, mcpServer: view.mcpServer.name })])}</div>
${facts([destination(destinationHost, t)])}
<div class="actions decision">
${linkButton(view.backHref, t.html('leaving.back'), 'plain')}
${linkButton(view.continueHref, t.html('leaving.continue', { host: hostText(destinationHost) }), 'accent')}
</div>`;
  return layout(context, t, { title: t.plain('leaving.heading', { provider }), main });
}
