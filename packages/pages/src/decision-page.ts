import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import {
  asker,
  destination,
  facts,
  linkButton,
  matchCodeFact,
  paragraphs,
  personFact,
  postForm,
  quotedMessage,
  submitButton,
} from './parts.ts';
import { type Deadline, deadline } from './times.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PageContext, PersonView, RequestedByView } from './views.ts';

/** What every page that asks for a decision shows, whatever its kind. */
export interface DecisionView extends Deadline {
  readonly mcpServer: McpServerView;
  /** Absent on one-person machines, where nobody signs in. */
  readonly person?: PersonView;
  /** The MCP server's own words. */
  readonly message?: string;
  readonly requestedBy?: RequestedByView;
  /** Short code that also stands in the MCP client. */
  readonly matchCode: string;
  /** Paths on our own origin that take the POST. */
  readonly acceptAction: string;
  readonly declineAction: string;
  readonly switchAccountAction?: string;
  readonly csrfToken: string;
  /**
   * What stands on this page, in the caller's own short form. The accepting form brings it back as `shown`, so that nobody
   * agrees to what changed since.
   */
  readonly shown?: string;
}

/** What a kind adds. */
export interface DecisionKind {
  readonly title: string;
  readonly heading: Html;
  /** More about what happens, below the heading; in one paragraph or several. */
  readonly lead?: Html | readonly Html[];
  /** What happened on the last try; block markup. */
  readonly notice?: Html;
  readonly facts: Html;
  readonly destinationHost?: string;
  readonly acceptLabel: Html;
  /**
   * Where the person cannot accept before something else is done, such as signing in again: in place of the accepting form
   * stands a link there, of the same size and weight. `acceptLabel` says so.
   */
  readonly acceptHref?: string;
  /** Where `facts` holds fields to fill in: they belong to the accepting form by its `id`. */
  readonly acceptForm?: { readonly id: string; readonly novalidate: boolean };
  /** What the person needs to know about the accepting button, just above both buttons. */
  readonly aboutAccept?: Html;
  readonly reassurance: Html;
}

/**
 * The reading order of every decision, in one place: who asks, what happens, the typed facts, the MCP server's own words,
 * where it leads, the match code, who is signed in, the two buttons with the safe one first.
 */
export function decisionPage(context: PageContext, t: Translator, view: DecisionView, kind: DecisionKind): string {
  const { csrfToken, shown } = view;
  const notice = kind.notice === undefined ? undefined : html`<div class="notice">${kind.notice}</div>`;
  const lead = kind.lead === undefined ? undefined : html`<div class="lead">${paragraphs([kind.lead].flat())}</div>`;
  const switchAccount =
    view.switchAccountAction === undefined
      ? undefined
      : { action: view.switchAccountAction, csrfToken, label: t.html('facts.switchAccount') };
  const aboutAccept = kind.aboutAccept === undefined ? undefined : html`<p class="about">${kind.aboutAccept}</p>`;
  const accept =
    kind.acceptHref === undefined
      ? postForm(
          { action: view.acceptAction, csrfToken, ...(shown === undefined ? {} : { shown }), ...kind.acceptForm },
          submitButton(kind.acceptLabel, 'accent'),
        )
      : linkButton(kind.acceptHref, kind.acceptLabel, 'accent');
  const main = html`${notice}
${asker(view.mcpServer, t)}
<h1>${kind.heading}</h1>
${lead}
${kind.facts}
${quotedMessage({ ...view, mcpServerName: view.mcpServer.name, brandName: context.branding.name }, t)}
${facts([
  kind.destinationHost === undefined ? undefined : destination(kind.destinationHost, t),
  matchCodeFact(view.matchCode, t),
  view.person === undefined ? undefined : personFact(view.person, t, switchAccount),
])}
${aboutAccept}
<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}">
${postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('decision.decline'), 'plain'))}
${accept}
</div>
<div class="fine"><p>${kind.reassurance}</p><p>${deadline(view, 'decision', t)}</p></div>`;
  return layout(context, t, { title: kind.title, main });
}
