import { type Html, html, ownText } from './html.ts';
import { layout } from './layout.ts';
import { asker, destination, facts, matchCodeFact, personFact, postForm, quotedMessage } from './parts.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PageContext, PersonView, RequestedByView } from './views.ts';

/** What every page that asks for a decision shows, whatever its kind. */
export interface DecisionView {
  readonly mcpServer: McpServerView;
  /** Absent on one-person machines, where nobody signs in. */
  readonly person?: PersonView;
  /** The MCP server's own words. */
  readonly message?: string;
  readonly requestedBy?: RequestedByView;
  /** Short code that also stands in the MCP client. */
  readonly matchCode: string;
  readonly expiresAt: Date;
  /** The time of this answer; with it the page also says how long is left. */
  readonly now?: Date;
  /** Paths on our own origin that take the POST. */
  readonly acceptAction: string;
  readonly declineAction: string;
  readonly switchAccountAction?: string;
  readonly csrfToken: string;
}

/** What a kind adds. */
export interface DecisionKind {
  readonly title: string;
  readonly heading: Html;
  readonly notice?: Html;
  readonly facts: Html;
  readonly destinationHost?: string;
  readonly acceptLabel: Html;
  readonly reassurance: Html;
}

/**
 * The reading order of every decision, in one place: who asks, what happens, the typed facts, the MCP server's own words,
 * where it leads, the match code, who is signed in, the two buttons with the safe one first.
 */
export function decisionPage(context: PageContext, t: Translator, view: DecisionView, kind: DecisionKind): string {
  const { csrfToken } = view;
  const notice = kind.notice === undefined ? undefined : html`<p class="notice">${kind.notice}</p>`;
  const switchAccount =
    view.switchAccountAction === undefined ? undefined : { action: view.switchAccountAction, csrfToken };
  const main = html`${notice}
${asker(view.mcpServer, t)}
<h1>${kind.heading}</h1>
${kind.facts}
${quotedMessage({ ...view, mcpServerName: view.mcpServer.name, brandName: context.branding.name }, t)}
${facts([
  kind.destinationHost === undefined ? undefined : destination(kind.destinationHost, t),
  matchCodeFact(view.matchCode, t),
  view.person === undefined ? undefined : personFact(view.person, t, switchAccount),
])}
<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}">
${postForm({ action: view.declineAction, csrfToken }, html`<button class="button" type="submit"><span>${t.html('decision.decline')}</span></button>`)}
${postForm({ action: view.acceptAction, csrfToken }, html`<button class="button accent" type="submit"><span>${kind.acceptLabel}</span></button>`)}
</div>
<div class="fine"><p>${kind.reassurance}</p><p>${deadline(view, t)}</p></div>`;
  return layout(context, t, { title: kind.title, main });
}

/** The server does not know the reader's time zone, so a time is always given with its own. */
function deadline({ expiresAt, now }: DecisionView, t: Translator): Html {
  const secondsLeft = now === undefined ? Number.POSITIVE_INFINITY : (expiresAt.getTime() - now.getTime()) / 1000;
  const isSoon = secondsLeft < 12 * 3600;
  const format = new Intl.DateTimeFormat(t.locale, {
    ...(isSoon ? {} : { year: 'numeric', month: 'long', day: 'numeric' }),
    hour: 'numeric',
    minute: '2-digit',
    timeZone: 'UTC',
    timeZoneName: 'short',
  });
  const time = html`<time datetime="${expiresAt.toISOString()}">${ownText(format.format(expiresAt))}</time>`;
  if (!isSoon) return t.html('decision.ends', { time });
  return t.html('decision.endsSoon', { relative: ownText(timeLeft(Math.max(0, secondsLeft), t)), time });
}

function timeLeft(seconds: number, t: Translator): string {
  const format = new Intl.RelativeTimeFormat(t.locale, { numeric: 'always' });
  if (seconds < 60) return format.format(Math.floor(seconds), 'second');
  if (seconds < 7200) return format.format(Math.floor(seconds / 60), 'minute');
  return format.format(Math.floor(seconds / 3600), 'hour');
}
