/** The pages for deleting a saved credential: the question and the result. */

import { actionBar } from '../decision-parts.ts';
import { type ForeignText, foreign } from '../foreign-text.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { fingerprintFact } from '../me-entries.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, mcpServerList, nameList, postForm, submitButton } from '../parts.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { McpServerView, PageContext } from '../views.ts';

export interface SavedCredentialView {
  /** Description by the MCP server that requested it. */
  readonly title: ForeignText;
  /** All MCP servers that may read it; empty if none of them is registered. */
  readonly mcpServers: readonly McpServerView[];
}

export interface DeleteCredentialView extends SavedCredentialView {
  /** A short stand-in for the values, in ASCII. */
  readonly fingerprint: string;
  /** Target of the POST that deletes it. */
  readonly deleteAction: string;
  readonly keepHref: string;
  readonly csrfToken: string;
}

/** Asks for confirmation and names the consequences. */
export function deleteCredentialPage(context: PageContext, view: DeleteCredentialView): string {
  const t = translatorFor(context);
  const users =
    view.mcpServers.length === 0 ? html`<p>${t.html('connection.unused')}</p>` : mcpServerList(view.mcpServers, t);
  const consequences = [
    ...withoutThem(view, t),
    t.html('deleteCredential.deleted', { brand: context.branding.name }),
    t.html('deleteCredential.stillValid'),
    t.html('deleteCredential.again'),
  ];
  const main = html`<h1>${t.html('deleteCredential.heading')}</h1>
${facts([
  fact(t.html('deleteCredential.named'), html`<span class="value" translate="no">${foreign(view.title, t)}</span>`),
  fact(t.html('connection.users'), users),
  fingerprintFact(view.fingerprint, t),
])}
<section class="permissions" aria-labelledby="consequences-heading">
<h2 id="consequences-heading">${t.html('disconnect.consequences')}</h2>
<ul class="scopes">${consequences.map(text => html`<li>${text}</li>`)}</ul>
</section>
${actionBar(
  {
    buttons: [
      linkButton(view.keepHref, t.html('deleteCredential.keep'), 'plain'),
      postForm(
        { action: view.deleteAction, csrfToken: view.csrfToken },
        submitButton(t.html('deleteCredential.confirm'), 'danger'),
      ),
    ],
  },
  t,
)}`;
  return layout(context, t, { title: t.plain('deleteCredential.heading'), main });
}

export interface CredentialDeletedView extends SavedCredentialView {
  readonly backHref: string;
}

export function credentialDeletedPage(context: PageContext, view: CredentialDeletedView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('credentialDeleted.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('credentialDeleted.heading'),
    texts: [...withoutThem(view, t), t.html('deleteCredential.stillValid')],
    body: facts([
      fact(t.html('deleteCredential.named'), html`<span class="value" translate="no">${foreign(view.title, t)}</span>`),
    ]),
    actions: [linkButton(view.backHref, t.html('disconnected.back'), 'plain')],
  });
}

function withoutThem({ mcpServers }: SavedCredentialView, t: Translator) {
  if (mcpServers.length === 0) return [];
  const names = nameList(
    mcpServers.map(({ name }) => name),
    t,
  );
  return [t.html('deleteCredential.access', { mcpServers: names, count: mcpServers.length })];
}
