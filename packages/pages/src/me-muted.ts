import { type Html, html } from './html.ts';
import { entryAction } from './me-entries.ts';
import { asker } from './parts.ts';
import { timeText } from './times.ts';
import type { Translator } from './translator.ts';
import type { McpServerView } from './views.ts';

/** An MCP server that the user muted. */
export interface MutedView {
  readonly mcpServer: McpServerView;
  readonly mutedAt: Date;
  /** The page on which the user can undo it. */
  readonly manageHref: string;
}

export function mutedEntry({ mcpServer, mutedAt, manageHref }: MutedView, index: number, t: Translator): Html {
  const heading = `muted-${index}`;
  return html`<li class="entry"><div id="${heading}">${asker(mcpServer, t)}</div>
<p class="detail">${timeText(mutedAt, 'stamp', t)}</p>
${entryAction({ href: manageHref, label: t.html('mute.undo'), id: `unmute-${index}`, describedBy: heading })}</li>
`;
}
