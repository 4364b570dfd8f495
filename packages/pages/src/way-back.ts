import { displayHost } from './display-host.ts';
import type { ForeignText } from './foreign-text.ts';
import type { Html } from './html.ts';
import { hostText, linkButton } from './parts.ts';
import type { Translator } from './translator.ts';

/** How the user gets back after the last page. */
export interface WayBackView {
  /** A registered return address of the MCP server. */
  readonly returnHref?: string;
  /** Link that stays here. Set if the browser goes to `returnHref` by itself, because the caller sends the header `Refresh`. */
  readonly stayHref?: string;
  /** Name of the MCP client, which nothing proves. */
  readonly mcpClient?: string;
}

export function wayBack(
  { mcpServer, returnHref, stayHref, mcpClient }: WayBackView & { readonly mcpServer: { readonly name: ForeignText } },
  t: Translator,
): { readonly text: Html; readonly actions: readonly Html[] } {
  const close = mcpClient === undefined ? t.html('next.close') : t.html('next.closeNamed', { mcpClient });
  if (returnHref === undefined) return { text: close, actions: [] };
  const back = linkButton(returnHref, t.html('next.return', { mcpServer: mcpServer.name }), 'accent');
  if (stayHref === undefined) return { text: close, actions: [back] };
  const host = hostText(displayHost(new URL(returnHref)));
  return {
    text: t.html('next.returning', { host }),
    actions: [back, linkButton(stayHref, t.html('next.stay'), 'plain')],
  };
}
