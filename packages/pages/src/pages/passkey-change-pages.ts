/**
 * The pages for adding a further passkey and for removing one: the question and the result. Both need a registered
 * passkey and therefore JavaScript.
 */
import { actionBar } from '../decision-parts.ts';
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, paragraphs } from '../parts.ts';
import { type CeremonyView, ceremonyForm, ceremonyNotes } from '../passkey-ceremony-form.ts';
import { timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface RemovePasskeyView extends CeremonyView {
  readonly label: string;
  readonly addedAt: Date;
  /** The user has no other passkey. */
  readonly isLast: boolean;
  readonly keepHref: string;
  /** The gateway rejected the last response. */
  readonly notice?: 'failed';
}

/** Asks for confirmation before removing a passkey, and names the consequences. */
export function removePasskeyPage(context: PageContext, view: RemovePasskeyView): string {
  const t = translatorFor(context);
  const consequences = [
    t.html('removePasskey.useless'),
    ...(view.isLast ? [t.html('removePasskey.last')] : []),
    t.html('removePasskey.device'),
  ];
  const main = html`${noticeOf(view.notice, t)}
<h1>${t.html('removePasskey.heading')}</h1>
<div class="lead"><p>${t.html('removePasskey.proof')}</p></div>
${facts([
  fact(t.html('removePasskey.name'), html`<span class="value" translate="no">${view.label}</span>`),
  fact(t.html('me.addedAt'), timeText(view.addedAt, 'stamp', t)),
])}
<section class="permissions" aria-labelledby="consequences-heading">
<h2 id="consequences-heading">${t.html('disconnect.consequences')}</h2>
<ul class="scopes">${consequences.map(text => html`<li>${text}</li>`)}</ul>
</section>
${ceremonyPart(context, view, { keep: t.html('removePasskey.keep'), go: t.html('removePasskey.confirm') }, t)}`;
  return layout(context, t, { title: t.plain('removePasskey.heading'), main });
}

/** `assert`: uses a registered passkey, which permits a new one. `register`: adds the new one. */
export interface AddPasskeyView extends CeremonyView {
  readonly keepHref: string;
  readonly notice?: 'failed' | 'not_added';
}

/** Adds a further passkey, in two steps. */
export function addPasskeyPage(context: PageContext, view: AddPasskeyView): string {
  const t = translatorFor(context);
  const lead =
    view.mode === 'assert'
      ? [t.html('addPasskey.proof'), t.html('addPasskey.next')]
      : [t.html('addPasskey.permitted'), t.html('addPasskey.where')];
  const go = view.mode === 'assert' ? t.html('passkey.start') : t.html('passkey.add');
  const main = html`${noticeOf(view.notice, t)}
<h1>${t.html('addPasskey.heading')}</h1>
<div class="lead">${paragraphs(lead)}</div>
${ceremonyPart(context, view, { keep: t.html('addPasskey.keep'), go }, t)}`;
  return layout(context, t, { title: t.plain('addPasskey.heading'), main });
}

function noticeOf(notice: AddPasskeyView['notice'], t: Translator): Html | undefined {
  if (notice === undefined) return undefined;
  return html`<div class="notice"><p>${t.html(`passkeyChange.notice.${notice}`)}</p></div>`;
}

/** Renders the two buttons, the note for browsers without JavaScript, and whom to ask about lost passkeys. */
function ceremonyPart(
  context: PageContext,
  view: CeremonyView & { readonly keepHref: string },
  labels: { readonly keep: Html; readonly go: Html },
  t: Translator,
): Html {
  return html`${actionBar(
    {
      above: ceremonyNotes('passkeyChange', t),
      buttons: [
        linkButton(view.keepHref, labels.keep, 'plain'),
        ceremonyForm(view, { label: labels.go, texts: 'passkeyChange' }, t),
      ],
    },
    t,
  )}
<div class="fine"><p>${t.html('passkeyChange.lost', { brand: context.branding.name })}</p></div>`;
}

export interface PasskeyRemovedView {
  readonly label: string;
  readonly backHref: string;
}

export function passkeyRemovedPage(context: PageContext, view: PasskeyRemovedView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('passkeyRemoved.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('passkeyRemoved.heading'),
    texts: [t.html('removePasskey.device')],
    body: facts([fact(t.html('removePasskey.name'), html`<span class="value" translate="no">${view.label}</span>`)]),
    actions: [linkButton(view.backHref, t.html('disconnected.back'), 'plain')],
  });
}
