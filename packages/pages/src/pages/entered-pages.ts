/** Pages that confirm the receipt of typed values. */
import { type ForeignText, foreign } from '../foreign-text.ts';
import { html, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext } from '../views.ts';
import { type WayBackView, wayBack } from '../way-back.ts';

export interface CredentialDoneView extends WayBackView {
  readonly mcpServer: McpServerView;
  /** Description by the MCP server. */
  readonly title: ForeignText;
  /** Stored until the user deletes it. */
  readonly lasting: boolean;
  /** Page on which the user can see and delete their saved credentials. */
  readonly connectionsHref?: string;
}

export function credentialDonePage(context: PageContext, view: CredentialDoneView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const mcpServer = view.mcpServer.name;
  const key = view.lasting ? 'credentialDone.headingLasting' : 'credentialDone.headingOnce';
  const manage =
    view.connectionsHref === undefined || !view.lasting
      ? undefined
      : html`<p><a class="link" href="${webUrl(view.connectionsHref)}">${t.html('credentialDone.manage')}</a></p>`;
  const named = html`<span class="value" translate="no">${foreign(view.title, t)}</span>`;
  return messagePage(context, t, {
    title: t.plain(key),
    icon: icons.check,
    tone: 'good',
    heading: t.html(key),
    texts: [t.html(view.lasting ? 'credentialDone.lasting' : 'credentialDone.once', { mcpServer }), back.text],
    body: html`${facts([fact(t.html('credentialDone.asked'), named)])}${manage}`,
    actions: back.actions,
  });
}

export interface FormDoneView extends WayBackView {
  readonly mcpServer: McpServerView;
}

export function formDonePage(context: PageContext, view: FormDoneView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const mcpServer = view.mcpServer.name;
  return messagePage(context, t, {
    title: t.plain('formDone.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('formDone.heading'),
    texts: [t.html('formDone.text', { mcpServer }), back.text],
    actions: back.actions,
  });
}
