import { foreign } from './foreign-text.ts';
import { type Html, html } from './html.ts';
import { appMark } from './marks.ts';
import { linkRow } from './me-entries.ts';
import { hostText } from './parts.ts';
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

export function mutedEntry({ mcpServer, mutedAt, manageHref }: MutedView, t: Translator): Html {
  return linkRow({
    href: manageHref,
    mark: appMark(mcpServer, 'small'),
    name: html`<span translate="no">${foreign(mcpServer.name, t)}</span>`,
    notes: [hostText(mcpServer.host), timeText(mutedAt, 'stamp', t), t.html('mute.undo')],
  });
}
