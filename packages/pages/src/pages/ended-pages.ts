/** Pages of an elicitation that needs no decision. */
import { icons } from '../icons.ts';
import { type WatchView, watchPart } from '../live-parts.ts';
import { messagePage } from '../message-page.ts';
import { linkButton, manageLink } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext } from '../views.ts';
import { type WayBackView, wayBack } from '../way-back.ts';

export interface WorkingView {
  readonly mcpServer: McpServerView;
  /** Path of this page. */
  readonly reloadHref: string;
  readonly watch?: WatchView;
}

/** Another tab is finishing the decision, or the application is verifying the user. */
export function workingPage(context: PageContext, view: WorkingView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('working.heading'),
    icon: icons.hourglass,
    heading: t.html('working.heading'),
    texts: [t.html('working.text'), t.html('next.close')],
    body: watchPart(view.watch, t),
    actions: [linkButton(view.reloadHref, t.html('working.reload'), 'plain')],
  });
}

export interface DeclinedView extends WayBackView {
  readonly mcpServer: McpServerView;
  /** Page on which the user mutes or reports the MCP server. */
  readonly manageHref?: string;
}

/** The user has declined. */
export function declinedPage(context: PageContext, view: DeclinedView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const mcpServer = view.mcpServer.name;
  return messagePage(context, t, {
    title: t.plain('declined.heading'),
    icon: icons.minus,
    heading: t.html('declined.heading'),
    texts: [t.html('declined.text', { mcpServer }), back.text],
    body: manageLink(view.manageHref, t),
    actions: back.actions,
  });
}

export interface EndedView {
  readonly mcpServer: McpServerView;
  /** Page on which the user mutes or reports the MCP server. */
  readonly manageHref?: string;
  readonly reason: 'expired' | 'cancelled' | 'failed';
}

const endedIcons = { expired: icons.clock, cancelled: icons.minus, failed: icons.alert } as const;

/** The elicitation ended without a usable answer. */
export function endedPage(context: PageContext, view: EndedView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain(`${view.reason}.heading`),
    icon: endedIcons[view.reason],
    tone: view.reason === 'failed' ? 'caution' : undefined,
    heading: t.html(`${view.reason}.heading`),
    texts: [t.html(`${view.reason}.text`, { mcpServer: view.mcpServer.name })],
    body: manageLink(view.manageHref, t),
  });
}
