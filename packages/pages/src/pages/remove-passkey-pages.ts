/** Removing a passkey: the question, and that it is done. */
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, postForm, submitButton } from '../parts.ts';
import { timeText } from '../times.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface RemovePasskeyView {
  readonly label: string;
  readonly addedAt: Date;
  /** The person has no other. */
  readonly isLast: boolean;
  /** Takes the POST that removes it. */
  readonly removeAction: string;
  readonly keepHref: string;
  readonly csrfToken: string;
}

/** Asks before a passkey is removed, and says what that means. */
export function removePasskeyPage(context: PageContext, view: RemovePasskeyView): string {
  const t = translatorFor(context.locale);
  const consequences = [
    t.html('removePasskey.useless'),
    ...(view.isLast ? [t.html('removePasskey.last')] : []),
    t.html('removePasskey.device'),
  ];
  const main = html`<h1>${t.html('removePasskey.heading')}</h1>
${facts([
  fact(t.html('removePasskey.name'), html`<span class="value" translate="no">${view.label}</span>`),
  fact(t.html('me.addedAt'), timeText(view.addedAt, 'stamp', t)),
])}
<section class="permissions" aria-labelledby="consequences-heading">
<h2 id="consequences-heading">${t.html('disconnect.consequences')}</h2>
<ul class="scopes">${consequences.map(text => html`<li>${text}</li>`)}</ul>
</section>
<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}">
${linkButton(view.keepHref, t.html('removePasskey.keep'), 'plain')}
${postForm({ action: view.removeAction, csrfToken: view.csrfToken }, submitButton(t.html('removePasskey.confirm'), 'accent'))}
</div>`;
  return layout(context, t, { title: t.plain('removePasskey.heading'), main });
}

export interface PasskeyRemovedView {
  readonly label: string;
  readonly backHref: string;
}

export function passkeyRemovedPage(context: PageContext, view: PasskeyRemovedView): string {
  const t = translatorFor(context.locale);
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
