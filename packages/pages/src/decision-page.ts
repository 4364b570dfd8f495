import { actionBar, matchCode, pageHead, personRow, quotedWords } from './decision-parts.ts';
import type { ForeignText } from './foreign-text.ts';
import { attributes, type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { type WatchView, watchPart } from './live-parts.ts';
import { type ButtonLook, facts, linkButton, manageLink, paragraphs, postForm, submitButton } from './parts.ts';
import { ceremonyNotes } from './passkey-ceremony-form.ts';
import { type Deadline, deadline } from './times.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PageContext, PersonView, RequestedByView } from './views.ts';

/** View data shared by all decision pages. */
export interface DecisionView extends Deadline {
  readonly mcpServer: McpServerView;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
  /** The message of the MCP server. */
  readonly message?: ForeignText;
  readonly requestedBy?: RequestedByView;
  /** Short code that the MCP client also shows. */
  readonly matchCode: string;
  /** Paths on our origin for the POST requests. */
  readonly acceptAction: string;
  readonly declineAction: string;
  readonly switchAccountAction?: string;
  /** Page on which the user mutes or reports the MCP server. */
  readonly manageHref?: string;
  readonly csrfToken: string;
  /**
   * Digest of the page content, computed by the caller. The accepting form returns it as `shown`, so the user cannot approve
   * content that has changed since.
   */
  readonly shown?: string;
  readonly watch?: WatchView;
}

/** Parts that differ by kind. */
export interface DecisionKind {
  readonly title: string;
  readonly heading: Html;
  /** The text of the heading. Default: the title. */
  readonly headingText?: string;
  /** Mark of the other party. */
  readonly counterpart: Html;
  /** Result of the last attempt; block markup of few lines. */
  readonly notice?: Html | undefined;
  /** Whether the notice is about what the user typed. It then has the focus, so that screen readers begin there. */
  readonly hasFaults?: boolean;
  /** The amount, directly below the heading. */
  readonly amount?: Html | undefined;
  /** The risk in few words, below the match code. Never needs scrolling. */
  readonly glance?: Html | undefined;
  /** Details, in one or more paragraphs. */
  readonly lead?: Html | readonly Html[] | undefined;
  readonly facts: Html;
  /** The fact that names the resource of the access. */
  readonly resource?: Html | undefined;
  /** A line above the buttons. */
  readonly aboveButtons?: Html | undefined;
  readonly acceptLabel: Html;
  /** Several buttons of the accepting form, instead of the one with `acceptLabel`. */
  readonly acceptButtons?: Html | undefined;
  /** The operator must act first, says the notice. No button leads on then: the acting one only tries again. */
  readonly waitsForOperator?: boolean;
  readonly tone?: 'danger' | 'caution' | undefined;
  /**
   * Link that replaces the accepting form, with the same size and weight, if the user must first do something else, such as
   * signing in again. `acceptLabel` is its label.
   */
  readonly acceptHref?: string;
  /** Form that replaces the accepting form and needs the script of the page. */
  readonly acceptCeremony?: (label: Html, look: ButtonLook) => Html;
  /** Set if `facts` contains input fields, which belong to the accepting form by its `id`. */
  readonly acceptForm?: { readonly id: string; readonly novalidate: boolean };
  /** Note about the accepting button. */
  readonly aboutAccept?: Html;
  readonly reassurance: Html;
}

/**
 * Renders a decision page in the reading order of all decisions: MCP server, action, match code, typed facts, the MCP
 * server's message, and in the bar that stays in view the user and the two buttons, the safe one first.
 */
export function decisionPage(context: PageContext, t: Translator, view: DecisionView, kind: DecisionKind): string {
  const { csrfToken, shown, mcpServer, person, switchAccountAction } = view;
  const notice =
    kind.notice === undefined
      ? undefined
      : html`<div class="notice"${attributes(kind.hasFaults ? { tabindex: -1, autofocus: true } : {})}>${kind.notice}</div>`;
  const lead = kind.lead === undefined ? undefined : html`<div class="lead">${paragraphs([kind.lead].flat())}</div>`;
  const leave = switchAccountAction === undefined ? undefined : { action: switchAccountAction, csrfToken };
  const aboutAccept = kind.aboutAccept === undefined ? undefined : html`<p class="about">${kind.aboutAccept}</p>`;
  const ordinary = kind.tone === 'danger' && kind.acceptHref === undefined ? 'danger' : 'accent';
  const [label, look]: [Html, ButtonLook] =
    kind.waitsForOperator === true ? [t.html('charge.tryAgain'), 'plain'] : [kind.acceptLabel, ordinary];
  const accept =
    kind.acceptCeremony?.(label, look) ??
    (kind.acceptHref === undefined
      ? postForm(
          { action: view.acceptAction, csrfToken, shown, ...kind.acceptForm },
          kind.acceptButtons ?? submitButton(label, look),
        )
      : linkButton(kind.acceptHref, label, look));
  const announcement = kind.acceptCeremony && ceremonyNotes('passkey', t);
  const decline = submitButton(t.html('decision.decline'), 'plain');
  const main = html`${notice}
${pageHead(
  {
    mcpServer,
    counterpart: kind.counterpart,
    heading: kind.heading,
    title: kind.headingText ?? kind.title,
    requestedBy: view.requestedBy,
    tone: kind.tone,
  },
  t,
)}
${kind.amount}
${matchCode(view.matchCode, t)}
${kind.glance}
${lead}
${kind.facts}
${kind.resource && facts([kind.resource])}
${quotedWords({ ...view, mcpServerName: mcpServer.name, brandName: context.branding.name }, t)}
${aboutAccept}
${actionBar(
  {
    person: person && personRow(person, t, leave),
    above: html`${announcement}${kind.aboveButtons}${watchPart(view.watch, t)}`,
    closes: true,
    buttons: [postForm({ action: view.declineAction, csrfToken }, decline), accept],
  },
  t,
)}
<div class="fine"><p>${kind.reassurance}</p><p>${deadline(view, 'decision', t)}</p>${manageLink(view.manageHref, t)}</div>`;
  return layout(context, t, { title: kind.title, main });
}
