/** The parts that pages with a decision share, in the order of the eye: who asks, the match code, the person, the action bar. */
import { type ForeignText, foreign, foreignPlain } from './foreign-text.ts';
import { attributes, type Html, html } from './html.ts';
import { appMark, personMark } from './marks.ts';
import { hostText, postForm } from './parts.ts';
import { fitsOneLine, widthOf } from './text-width.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PersonView, RequestedByView } from './views.ts';

export interface PageHead {
  readonly mcpServer?: McpServerView | undefined;
  /** Mark of the other party, such as the provider. */
  readonly counterpart?: Html | undefined;
  readonly heading: Html;
  /** The text of the heading, which decides on its size. */
  readonly title: string;
  /** Whether the heading names the MCP server. Otherwise its name is shown next to its host. */
  readonly isNamed?: boolean;
  readonly requestedBy?: RequestedByView | undefined;
  readonly step?: StepView | undefined;
  readonly tone?: 'danger' | 'caution' | undefined;
}

/** The position of a page in a series of pages. */
export interface StepView {
  readonly step: number;
  readonly steps: number;
}

/** Renders who asks and with whom, what happens in one sentence, and the host with the claimed origin of the request. */
export function pageHead(head: PageHead, t: Translator): Html {
  const { mcpServer, tone, counterpart } = head;
  const width = widthOf(head.title);
  const size = width > 90 ? ' longest' : width > 56 ? ' longer' : '';
  const step = head.step === undefined ? undefined : html`<p class="step">${t.html('head.step', { ...head.step })}</p>`;
  const marks =
    mcpServer === undefined
      ? counterpart
      : html`${appMark(mcpServer)}${counterpart && html`<span class="dots"></span>${counterpart}`}`;
  return html`<div class="${`head${size}${tone === undefined ? '' : ` tone-${tone}`}`}">
<div class="marks" aria-hidden="true">${marks}</div>
${step}<h1>${head.heading}</h1>
${mcpServer && party(mcpServer, head, t)}
</div>`;
}

function party({ name, host }: McpServerView, { isNamed = true, requestedBy }: PageHead, t: Translator): Html {
  const named = isNamed ? undefined : html`<strong class="asker-name" translate="no">${foreign(name, t)}</strong> `;
  const claim = claimOf(requestedBy, t);
  const isLong = widthOf(`${requestedBy?.mcpClient ?? ''}${requestedBy?.tool ?? ''}`) > 48;
  const claimed = claim && (isLong ? unfoldable(claim, 1) : html` <span class="claim">${claim}</span>`);
  return html`<div class="party" role="group" aria-label="${t.plain('asker.label')}">${named}<span class="asker-host">${hostText(host)}</span>${claimed}</div>`;
}

/** What the MCP server says about the origin of its request: in quotation marks, as a claim. */
function claimOf({ mcpClient, tool }: RequestedByView = {}, t: Translator): Html | undefined {
  if (mcpClient !== undefined && tool !== undefined) return t.html('head.claimBoth', { mcpClient, tool });
  if (mcpClient !== undefined) return t.html('head.claimClient', { mcpClient });
  if (tool !== undefined) return t.html('head.claimTool', { tool });
  return undefined;
}

/** The short code that the MCP client may show as well. */
export function matchCode(code: string, t: Translator): Html {
  return html`<div class="match"><p>${t.html('match.text')} <span class="detail">${t.html('match.other')}</span></p><strong class="code" dir="ltr" translate="no">${code}</strong></div>`;
}

/** The words of the MCP server, marked as such. Long ones show two lines until the user opens them. */
export function quotedWords(
  from: { mcpServerName: ForeignText; brandName: string; message?: ForeignText },
  t: Translator,
) {
  if (from.message === undefined) return undefined;
  const message = foreign(from.message, t);
  const caption = t.html('words.of', { mcpServer: from.mcpServerName, brand: from.brandName });
  return html`<figure class="quoted"><blockquote dir="auto">${fitsOneLine(foreignPlain(from.message, t), 96) ? message : unfoldable(message, 2)}</blockquote>
<figcaption class="claim">${caption}</figcaption></figure>`;
}

/** Text of which the first lines are visible until the user opens it. */
function unfoldable(text: Html, lines: 1 | 2): Html {
  return html`<details class="whole"><summary><span class="${`clamp lines-${lines}`}">${text}</span></summary></details>`;
}

/** The signed-in user in one row, with the button that changes the account. */
export function personRow(
  person: PersonView,
  t: Translator,
  leave?: { readonly action: string; readonly csrfToken: string },
): Html {
  const form =
    leave &&
    postForm(
      leave,
      html`<button class="link" type="submit">${t.html('person.switch')}<span class="unseen"> ${t.html('person.switchWhat')}</span></button>`,
    );
  return html`<div class="person" role="group" aria-label="${t.plain('facts.person')}">${personMark(person)}${personTexts(person, t)}${form}</div>`;
}

/** A host is never cut: one that does not fit is on a line of its own when the user opens the row. */
function personTexts({ displayName, detail, signInHost }: PersonView, t: Translator): Html {
  const host = signInHost === undefined ? undefined : hostText(signInHost);
  const about = detail === undefined ? undefined : html`<span translate="no">${detail}</span>`;
  const isShort = fitsOneLine(displayName, 36) && widthOf(`${detail ?? ''}${signInHost ?? ''}`) <= 64;
  if (isShort) {
    const separator = detail === undefined || host === undefined ? undefined : html` · `;
    return html`<p class="person-text"><span class="value" translate="no">${displayName}</span> <span class="detail">${about}${separator}${host}</span></p>`;
  }
  return html`<details class="whole person-text"><summary><span class="value clamp lines-1" translate="no">${displayName}</span>${about && html`<span class="detail clamp lines-1">${about}</span>`}</summary>${host && html`<p class="detail">${t.html('facts.personHost', { host })}</p>`}</details>`;
}

/** Where the accepting button leads. */
export function toward(host: string, t: Translator): Html {
  return html`<p class="toward">${t.html('facts.destination')} ${hostText(host)}</p>`;
}

/** The bar that stays in view: the person, a long destination, and the buttons, the safe one first. */
export function actionBar(
  bar: {
    readonly person?: Html | undefined;
    readonly above?: Html | undefined;
    readonly buttons: readonly Html[];
    /** Whether the script removes the buttons when the time is up. */
    readonly closes?: boolean;
  },
  t: Translator,
): Html {
  return html`<div class="bar">
${bar.person}${bar.above}
<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}"${attributes({ 'data-closes': bar.closes })}>
${bar.buttons}
</div>
</div>`;
}
