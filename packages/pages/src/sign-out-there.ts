import { displayHost } from './display-host.ts';
import type { Html } from './html.ts';
import { hostText, linkButton } from './parts.ts';
import type { Translator } from './translator.ts';

export interface SignedOutView {
  /** Where the user can sign out of the identity provider. The page names its host. */
  readonly endSessionHref?: string;
}

/** What a page says after a sign-out, with the way to sign out of the identity provider. */
export function signOutThere(
  t: Translator,
  text: Html,
  { endSessionHref }: SignedOutView,
): { readonly texts: readonly Html[]; readonly actions?: readonly Html[] } {
  if (endSessionHref === undefined) return { texts: [text] };
  const host = hostText(displayHost(new URL(endSessionHref)));
  return {
    texts: [text, t.html('signedOut.elsewhere', { host })],
    // A link, because `form-action 'self'` would block a form (security.md T25).
    actions: [linkButton(endSessionHref, t.html('signedOut.there'), 'plain')],
  };
}
