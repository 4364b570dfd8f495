import { actionBar, pageHead, toward } from '../decision-parts.ts';
import { displayHost } from '../display-host.ts';
import { html } from '../html.ts';
import { layout } from '../layout.ts';
import { providerMark } from '../marks.ts';
import { hostText, linkButton, paragraphs } from '../parts.ts';
import { maxButtonHost, shortName, widthOf } from '../text-width.ts';
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
 * The page between our form and the provider. `form-action 'self'` blocks a redirect after a form post, to every origin on
 * the way of a federated sign-in (security.md T25). This page goes on by itself, which is no form post; the link is for
 * browsers that do not.
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
  const { mcpServer } = view;
  const inSentences = { provider: shortName(provider), mcpServer: shortName(mcpServer.name) };
  const title = t.plain('leaving.heading', { provider });
  const isShortHost = widthOf(destinationHost) <= maxButtonHost;
  const main = html`${pageHead({ mcpServer, counterpart: providerMark(view), heading: t.html('leaving.heading', { provider }), title, isNamed: false }, t)}
<div class="lead">${paragraphs([t.html('leaving.text', inSentences)])}</div>
${actionBar(
  {
    above: isShortHost ? undefined : toward(destinationHost, t),
    buttons: [
      linkButton(view.backHref, t.html('leaving.back'), 'plain'),
      linkButton(
        view.continueHref,
        isShortHost ? t.html('leaving.continue', { host: hostText(destinationHost) }) : t.html('connect.accept'),
        'accent',
      ),
    ],
  },
  t,
)}`;
  return layout(context, t, { title, main, refreshTo: view.continueHref });
}
