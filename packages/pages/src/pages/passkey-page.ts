import { amountText } from '../amounts.ts';
import type { PaymentFactsView } from '../approval-views.ts';
import { type Html, html, ownPath, passkeyScriptElement, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { asker, paragraphs, personFact, postForm, submitButton } from '../parts.ts';
import { paymentFacts } from '../payment-facts.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, PersonView } from '../views.ts';

export interface PasskeyView {
  readonly mcpServer: McpServerView;
  readonly payment: PaymentFactsView;
  /** Absent on one-person machines, where nobody signs in. */
  readonly person?: PersonView;
  /** `register`: this person has no passkey here yet and adds one. `assert`: uses it, which approves. */
  readonly mode: 'register' | 'assert';
  /** `PublicKeyCredentialCreationOptionsJSON` or `…RequestOptionsJSON` (WebAuthn Level 3), serialised. */
  readonly optionsJson: string;
  /** Takes the POST with `csrf_token`, `shown`, `ceremony` and `response`, the serialised credential. */
  readonly action: string;
  readonly declineAction: string;
  /** Back to the decision. */
  readonly backHref: string;
  readonly csrfToken: string;
  /** The digest of the terms on this page. */
  readonly shown: string;
  /** Comes back as it is: what the gateway needs to check the response, sealed. */
  readonly ceremony: string;
  /** The path of {@link passkeyScript}. */
  readonly scriptPath: string;
  readonly notice?: 'failed' | 'not_added';
}

/**
 * The one page that needs JavaScript, because browsers reach passkeys only through it. To be sent with `passkeyPageHeaders`.
 * What the script does begins with the button, so opening the page asks the device for nothing.
 *
 * @throws TypeError when `scriptPath` is not that of our script.
 */
export function passkeyPage(context: PageContext, view: PasskeyView): string {
  const t = translatorFor(context.locale);
  const { mode, csrfToken, payment } = view;
  const amount = amountText(payment.amount, t);
  const heading = mode === 'register' ? 'passkey.headingRegister' : 'passkey.headingAssert';
  const notice =
    view.notice === undefined
      ? undefined
      : html`<div class="notice"><p>${t.html(`passkey.notice.${view.notice}`)}</p></div>`;
  const lead =
    mode === 'register'
      ? [t.html('passkey.textRegister'), t.html('passkey.textRegisterNext')]
      : [t.html('passkey.textAssert', { brand: context.branding.name })];
  const person = view.person === undefined ? [] : [personFact(view.person, t)];
  const main = html`${notice}
${asker(view.mcpServer, t)}
<h1>${t.html(heading, { amount })}</h1>
<div class="lead">${paragraphs(lead)}</div>
${paymentFacts(payment, t, person)}
<noscript><p class="danger caution">${icons.alert}<span>${t.html('passkey.noScript', { technology: 'JavaScript' })}</span></p></noscript>
<p class="announcement" role="status"></p>
<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}">
${postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('decision.decline'), 'plain'))}
${ceremonyForm(view, t)}
</div>
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('passkey.back')}</a></p>
<div class="fine"><p>${t.html(mode === 'register' ? 'passkey.reassuranceRegister' : 'passkey.reassuranceAssert')}</p></div>
${passkeyScriptElement(view.scriptPath)}`;
  return layout(context, t, { title: t.plain(heading, { amount }), main });
}

/** The script finds its options and its texts in the data attributes, and fills in `response`. */
function ceremonyForm(view: PasskeyView, t: Translator): Html {
  const label = t.html(view.mode === 'register' ? 'passkey.add' : 'passkey.start');
  return html`<form class="needs-script" method="post" action="${ownPath(view.action)}" autocomplete="off" data-passkey="${view.mode}" data-options="${view.optionsJson}" data-waiting="${t.plain('passkey.waiting')}" data-sending="${t.plain('passkey.sending')}" data-cancelled="${t.plain('passkey.cancelled')}" data-already-added="${t.plain('passkey.alreadyAdded')}" data-failed="${t.plain('passkey.failed')}" data-unsupported="${t.plain('passkey.unsupported')}"><input type="hidden" name="csrf_token" value="${view.csrfToken}"><input type="hidden" name="shown" value="${view.shown}"><input type="hidden" name="ceremony" value="${view.ceremony}"><input type="hidden" name="response" value="">${submitButton(label, 'accent')}</form>`;
}
