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

/** View data shared by all decision pages. */
export interface DecisionView extends Deadline {
  readonly mcpServer: McpServerView;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
  /** The message of the MCP server. */
  readonly message?: string;
  readonly requestedBy?: RequestedByView;
  /** Short code that the MCP client also shows. */
  readonly matchCode: string;
  /** Paths on our origin for the POST requests. */
  readonly acceptAction: string;
  readonly declineAction: string;
  readonly switchAccountAction?: string;
  readonly csrfToken: string;
  /**
   * Digest of the page content, computed by the caller. The accepting form returns it as `shown`, so the user cannot approve
   * content that has changed since.
   */
  readonly shown?: string;
}

/** Parts that differ by kind. */
export interface DecisionKind {
  readonly title: string;
  readonly heading: Html;
  /** Details below the heading, in one or more paragraphs. */
  readonly lead?: Html | readonly Html[] | undefined;
  /** Result of the last attempt; block markup. */
  readonly notice?: Html | undefined;
  readonly facts: Html;
  /** The fact that names the resource of the access; above the destination. */
  readonly resource?: Html | undefined;
  readonly destinationHost?: string | undefined;
  readonly acceptLabel: Html;
  /**
   * Link that replaces the accepting form, with the same size and weight, if the user must first do something else, such as
   * signing in again. `acceptLabel` is its label.
   */
  readonly acceptHref?: string;
  /** Set if `facts` contains input fields, which belong to the accepting form by its `id`. */
  readonly acceptForm?: { readonly id: string; readonly novalidate: boolean };
  /** Note about the accepting button, just above both buttons. */
  readonly aboutAccept?: Html;
  readonly reassurance: Html;
}

/**
 * Renders a decision page in the reading order of all decisions: MCP server, action, typed facts, the MCP server's message,
 * destination, match code, signed-in user, and the two buttons with the safe button first.
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
          { action: view.acceptAction, csrfToken, shown, ...kind.acceptForm },
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
  kind.resource,
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
