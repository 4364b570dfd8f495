/** Pages of an elicitation that needs no decision any more. */
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { linkButton } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext } from '../views.ts';

export interface WorkingView {
  readonly mcpServer: McpServerView;
  /** This same page. */
  readonly reloadHref: string;
}

/** A decision is being finished: in another tab, or by the party that verifies the person. */
export function workingPage(context: PageContext, view: WorkingView): string {
  const t = translatorFor(context.locale);
  return messagePage(context, t, {
    title: t.plain('working.heading'),
    icon: icons.hourglass,
    heading: t.html('working.heading'),
    texts: [t.html('working.text'), t.html('next.close', { mcpServer: view.mcpServer.name })],
    actions: [linkButton(view.reloadHref, t.html('working.reload'), 'plain')],
  });
}

export interface DeclinedView {
  readonly mcpServer: McpServerView;
  /** A registered return address of the MCP server. */
  readonly returnHref?: string;
}

/** The person said no. */
export function declinedPage(context: PageContext, view: DeclinedView): string {
  const t = translatorFor(context.locale);
  const mcpServer = view.mcpServer.name;
  return messagePage(context, t, {
    title: t.plain('declined.heading'),
    icon: icons.minus,
    heading: t.html('declined.heading'),
    texts: [t.html('declined.text', { mcpServer }), t.html('next.close', { mcpServer })],
    ...(view.returnHref === undefined
      ? {}
      : { actions: [linkButton(view.returnHref, t.html('next.return', { mcpServer }), 'plain')] }),
  });
}

export interface EndedView {
  readonly mcpServer: McpServerView;
  readonly reason: 'expired' | 'cancelled' | 'failed';
}

const endedIcons = { expired: icons.clock, cancelled: icons.minus, failed: icons.alert } as const;

/** The elicitation ended without an answer that could be used. */
export function endedPage(context: PageContext, view: EndedView): string {
  const t = translatorFor(context.locale);
  return messagePage(context, t, {
    title: t.plain(`${view.reason}.heading`),
    icon: endedIcons[view.reason],
    ...(view.reason === 'failed' ? { tone: 'caution' as const } : {}),
    heading: t.html(`${view.reason}.heading`),
    texts: [t.html(`${view.reason}.text`, { mcpServer: view.mcpServer.name })],
  });
}
