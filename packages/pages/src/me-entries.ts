/** The entries of /me besides connections: open elicitations, saved credentials, passkeys. */

import { amountHtml } from './amounts.ts';
import type { AmountView } from './approval-views.ts';
import { type Html, html, webUrl } from './html.ts';
import { copyable } from './live-parts.ts';
import { namedMark } from './marks.ts';
import { asker, fact, facts, manageLink, mcpServerList } from './parts.ts';
import { type Deadline, deadline, timeText } from './times.ts';
import type { Translator } from './translator.ts';
import type { McpServerView } from './views.ts';

/** The subject of an open elicitation, by kind. */
export type WaitingAbout =
  | { readonly kind: 'authorization'; readonly providerName: string }
  | { readonly kind: 'payment'; readonly amount: AmountView }
  | { readonly kind: 'confirmation' }
  | { readonly kind: 'credential' }
  | { readonly kind: 'form' };

/** An open elicitation. */
export interface WaitingView extends Deadline {
  readonly mcpServer: McpServerView;
  readonly about: WaitingAbout;
  readonly openHref: string;
  /** Page on which the user mutes or reports the MCP server. */
  readonly manageHref?: string;
}

/** The last use of an entry. */
export interface LastUseView {
  readonly at: Date;
  readonly mcpServerName: string;
  /** Tool name claimed by the MCP server; shown as a claim. */
  readonly tool?: string;
}

/** A saved credential. Contains only the fingerprint of its values. */
export interface CredentialItemView {
  /** Description by the MCP server that requested it. */
  readonly title: string;
  /** All MCP servers that may read it; empty if none of them is registered. */
  readonly mcpServers: readonly McpServerView[];
  /** A short stand-in for the values, in ASCII. */
  readonly fingerprint: string;
  /** Time at which the current values were entered. */
  readonly savedAt: Date;
  /** Whether they replaced earlier values. */
  readonly replaced?: boolean;
  readonly lastUse?: LastUseView;
  /** Confirmation page for the deletion. */
  readonly deleteHref: string;
}

export interface PasskeyItemView {
  readonly label: string;
  readonly addedAt: Date;
  readonly lastUsedAt?: Date;
  /** Time from which it can approve payments. */
  readonly countsFrom?: Date;
  /** Confirmation page for the removal. */
  readonly removeHref: string;
}

export function waitingEntry(waiting: WaitingView, index: number, t: Translator): Html {
  const what = `waiting-${index}`;
  return html`<li class="entry">${asker(waiting.mcpServer, t)}
<div><p id="${what}">${sentence(waiting, t)}</p>
<p class="detail">${deadline(waiting, 'decision', t)}</p>${manageLink(waiting.manageHref, t)}</div>
${entryAction({ href: waiting.openHref, label: t.html('me.open'), id: `open-${index}`, describedBy: what })}</li>
`;
}

/** The heading of the decision page. */
function sentence({ mcpServer: { name: mcpServer }, about }: WaitingView, t: Translator): Html {
  switch (about.kind) {
    case 'authorization':
      return t.html('connect.heading', { mcpServer, provider: about.providerName });
    case 'payment':
      return t.html('payment.heading', { mcpServer, amount: amountHtml(about.amount, t) });
    case 'confirmation':
      return t.html('confirmation.heading', { mcpServer });
    case 'credential':
      return t.html('credential.heading', { mcpServer });
    case 'form':
      return t.html('form.heading', { mcpServer });
  }
}

export function credentialEntry(credential: CredentialItemView, index: number, t: Translator): Html {
  const heading = `credential-${index}`;
  const users =
    credential.mcpServers.length === 0
      ? html`<p>${t.html('connection.unused')}</p>`
      : mcpServerList(credential.mcpServers);
  return html`<li class="entry">
<div class="entry-head">${namedMark(credential.title)}<div class="entry-name"><h3 id="${heading}" translate="no">${credential.title}</h3></div></div>
${facts([
  fact(t.html('connection.users'), users),
  fingerprintFact(credential.fingerprint, t),
  fact(
    t.html(credential.replaced === true ? 'me.savedAgainAt' : 'me.savedAt'),
    timeText(credential.savedAt, 'stamp', t),
  ),
  fact(t.html('me.lastUse'), lastUseText(credential.lastUse, t)),
])}
${entryAction({ href: credential.deleteHref, label: t.html('me.deleteCredential'), id: `delete-${index}`, describedBy: heading })}</li>
`;
}

/** Distinguishes two credentials with the same name, and says that the entered values are not shown. */
export function fingerprintFact(fingerprint: string, t: Translator): Html {
  return fact(
    t.html('me.fingerprint'),
    html`${copyable(html`<code class="fingerprint" dir="ltr" translate="no">${fingerprint}</code>`, t)}<span class="detail">${t.html('me.fingerprintHint')}</span>`,
  );
}

export function passkeyEntry(passkey: PasskeyItemView, index: number, t: Translator): Html {
  const heading = `passkey-${index}`;
  const lastUsed = passkey.lastUsedAt === undefined ? t.html('me.neverUsed') : timeText(passkey.lastUsedAt, 'stamp', t);
  const countsFrom =
    passkey.countsFrom === undefined
      ? undefined
      : fact(t.html('me.passkeyCountsFrom'), timeText(passkey.countsFrom, 'moment', t));
  return html`<li class="entry">
<h3 id="${heading}" translate="no">${passkey.label}</h3>
${facts([fact(t.html('me.addedAt'), timeText(passkey.addedAt, 'stamp', t)), fact(t.html('me.lastUse'), lastUsed), countsFrom])}
${entryAction({ href: passkey.removeHref, label: t.html('me.removePasskey'), id: `remove-${index}`, describedBy: heading })}</li>
`;
}

export function lastUseText(use: LastUseView | undefined, t: Translator): Html {
  if (use === undefined) return t.html('me.neverUsed');
  const mcpServer = use.mcpServerName;
  const by =
    use.tool === undefined
      ? t.html('me.usedBy', { mcpServer })
      : t.html('me.usedFor', { mcpServer, tool: html`<span translate="no">${use.tool}</span>` });
  return html`${timeText(use.at, 'stamp', t)}<span class="detail">${by}</span>`;
}

/** Many links on the page have the same label, so the accessible name of each also contains its entry. */
export function entryAction(p: { href: string; label: Html; id: string; describedBy: string }): Html {
  return html`<div class="actions"><a class="button small" id="${p.id}" href="${webUrl(p.href)}" aria-labelledby="${p.id} ${p.describedBy}"><span>${p.label}</span></a></div>`;
}
