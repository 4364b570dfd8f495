import { type Html, html, ownPath } from './html.ts';
import { icons } from './icons.ts';
import { type ButtonLook, submitButton } from './parts.ts';
import type { Translator } from './translator.ts';

/** The data for one passkey ceremony, prepared by the gateway. */
export interface CeremonyView {
  /** `register` adds a passkey, `assert` uses one. */
  readonly mode: 'register' | 'assert';
  /** `PublicKeyCredentialCreationOptionsJSON` or `…RequestOptionsJSON` (WebAuthn Level 3), serialised. */
  readonly optionsJson: string;
  /** Target of the POST with `csrf_token`, `ceremony` and `response`, the serialised credential. */
  readonly action: string;
  readonly csrfToken: string;
  /** The sealed data with which the gateway checks the response. The form returns it unchanged. */
  readonly ceremony: string;
}

/** Texts for the alternatives: a payment can be declined, a change of passkeys can be left. */
export type CeremonyTexts = 'passkey' | 'passkeyChange';

/** Says that a browser without JavaScript cannot go on here; and the place in which the script says how it goes. */
export function ceremonyNotes(texts: CeremonyTexts, t: Translator): Html {
  const noScript = t.html(`${texts}.noScript`, { technology: 'JavaScript' });
  return html`<noscript><p class="alert caution">${icons.alert}<span>${noScript}</span></p></noscript><p class="announcement" role="status"></p>`;
}

/** The script finds its options and its texts in the data attributes, and fills in `response`. */
export function ceremonyForm(
  view: CeremonyView & { readonly shown?: string },
  p: { readonly label: Html; readonly texts: CeremonyTexts; readonly look?: ButtonLook },
  t: Translator,
): Html {
  const { texts } = p;
  const shown = view.shown === undefined ? undefined : html`<input type="hidden" name="shown" value="${view.shown}">`;
  return html`<form class="needs-script" method="post" action="${ownPath(view.action)}" autocomplete="off" data-passkey="${view.mode}" data-options="${view.optionsJson}" data-waiting="${t.plain('passkey.waiting')}" data-sending="${t.plain('passkey.sending')}" data-cancelled="${t.plain(`${texts}.cancelled`)}" data-already-added="${t.plain(`${texts}.alreadyAdded`)}" data-failed="${t.plain(`${texts}.failed`)}" data-unsupported="${t.plain(`${texts}.unsupported`)}"><input type="hidden" name="csrf_token" value="${view.csrfToken}">${shown}<input type="hidden" name="ceremony" value="${view.ceremony}"><input type="hidden" name="response" value="">${submitButton(p.label, p.look ?? 'accent')}</form>`;
}
