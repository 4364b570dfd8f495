import { actionBar } from '../decision-parts.ts';
import { html } from '../html.ts';
import { layout } from '../layout.ts';
import { linkButton, postForm, submitButton } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface RenamePasskeyView {
  readonly label: string;
  readonly action: string;
  readonly keepHref: string;
  readonly csrfToken: string;
  /** The gateway rejected the typed name. */
  readonly notice?: 'invalid';
}

/** Asks for a name of a passkey. The field is named `label`. */
export function renamePasskeyPage(context: PageContext, view: RenamePasskeyView): string {
  const t = translatorFor(context);
  const isInvalid = view.notice !== undefined;
  const notice = isInvalid
    ? html`<div class="notice" tabindex="-1" autofocus><p id="label-fault">${t.html('renamePasskey.invalid')}</p></div>`
    : undefined;
  const input = isInvalid
    ? html`<input id="label" name="label" type="text" form="answer" value="${view.label}" autocomplete="off" required aria-invalid="true" aria-describedby="label-fault label-hint">`
    : html`<input id="label" name="label" type="text" form="answer" value="${view.label}" autocomplete="off" required aria-describedby="label-hint">`;
  const main = html`${notice}
<h1>${t.html('renamePasskey.heading')}</h1>
<div class="field"><label for="label">${t.html('renamePasskey.label')}</label>
<p class="detail" id="label-hint">${t.html('renamePasskey.hint')}</p>
${input}</div>
${actionBar({ buttons: [linkButton(view.keepHref, t.html('renamePasskey.keep'), 'plain'), postForm({ action: view.action, csrfToken: view.csrfToken, id: 'answer', novalidate: true }, submitButton(t.html('renamePasskey.save'), 'accent'))] }, t)}`;
  return layout(context, t, { title: t.plain('renamePasskey.heading'), main });
}
