import { actionBar, pageHead, personRow } from '../decision-parts.ts';
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { copyable, type WatchView, watchPart } from '../live-parts.ts';
import { providerMark } from '../marks.ts';
import { linkButton, newTabLink, postForm, submitButton } from '../parts.ts';
import { shortName } from '../text-width.ts';
import { type Deadline, deadline } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, PersonView, ProviderView } from '../views.ts';

/** The provider's response to the last poll. */
export type DeviceNotice =
  /** `authorization_pending` (RFC 8628 section 3.5): the user has not entered the code or not agreed yet. */
  | 'not_yet'
  /** Polled too soon after the last poll (`slow_down`), or another request is polling. */
  | 'wait';

/** The code is valid until `expiresAt`. */
export interface DeviceView extends Deadline, ProviderView {
  readonly mcpServer: McpServerView;
  /** `user_code`, as the provider writes it. */
  readonly userCode: string;
  /** `verification_uri`; it opens in a new tab, and its host is shown. */
  readonly verificationHref: string;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
  readonly notice?: DeviceNotice;
  /** Target of the POST that asks the provider whether the user has entered the code. */
  readonly checkAction: string;
  /** Link back to the decision. */
  readonly backHref: string;
  readonly csrfToken: string;
  /** The script asks by itself, as if the user had pressed the button. */
  readonly watch?: WatchView;
}

/**
 * Shows the short code that the user enters at a provider without redirects (RFC 8628 section 3.3).
 *
 * @throws TypeError when `verificationHref` is no web address.
 */
export function devicePage(context: PageContext, view: DeviceView): string {
  const t = translatorFor(context);
  const { providerName: provider } = view;
  const notice =
    view.notice === undefined
      ? undefined
      : html`<div class="notice"><p>${t.html(`device.notice.${view.notice}`, { provider: shortName(provider) })}</p></div>`;
  const { mcpServer, person, csrfToken } = view;
  const title = t.plain('device.heading', { provider });
  const main = html`${notice}
${pageHead({ mcpServer, counterpart: providerMark(view), heading: t.html('device.heading', { provider }), title, isNamed: false }, t)}
<p class="safety">${icons.shield}<span>${t.html('device.safety')}</span></p>
${steps(view, t)}
<div class="lead"><p>${t.html('device.text', { provider: shortName(provider), mcpServer: shortName(mcpServer.name) })}</p></div>
${actionBar(
  {
    person: person && personRow(person, t),
    buttons: [
      linkButton(view.backHref, t.html('device.back'), 'plain'),
      postForm({ action: view.checkAction, csrfToken, check: true }, submitButton(t.html('device.check'), 'accent')),
    ],
  },
  t,
)}
<div class="fine"><p>${deadline(view, 'device', t)}</p></div>
${watchPart(view.watch, t)}`;
  return layout(context, t, { title, main });
}

function steps({ providerName: provider, userCode, verificationHref }: DeviceView, t: Translator): Html {
  return html`<ol class="steps">
<li><p>${t.html('device.copy')}</p><p>${copyable(html`<code class="${userCode.length > 9 ? 'user-code long' : 'user-code'}" dir="ltr" translate="no">${userCode}</code>`, t)}</p></li>
<li><p>${t.html('device.enter', { provider: shortName(provider) })}</p>${newTabLink(verificationHref, t)}</li>
<li><p>${t.html('device.return', { provider: shortName(provider) })}</p></li>
</ol>`;
}
