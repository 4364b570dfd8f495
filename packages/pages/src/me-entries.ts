/** The entries of /me besides connections: open elicitations, saved credentials, passkeys. */

import { amountHtml } from './amounts.ts';
import type { AmountView } from './approval-views.ts';
import { type ForeignText, foreign, foreignPlain } from './foreign-text.ts';
import { type Html, html, webUrl } from './html.ts';
import { icons } from './icons.ts';
import { copyable } from './live-parts.ts';
import { appMark, namedMark } from './marks.ts';
import { fact, facts, hostText, manageLink, mcpServerList } from './parts.ts';
import { type Deadline, deadline, timeText } from './times.ts';
import type { Translator } from './translator.ts';
import type { McpServerView } from './views.ts';

/** What an open elicitation asks for, by kind. Titles are texts of the MCP server. */
export type WaitingAbout =
  | {
      readonly kind: 'authorization';
      readonly providerName: string;
      /** Number of requested permissions; absent if the provider names them. */
      readonly permissions?: number;
    }
  | { readonly kind: 'payment'; readonly amount: AmountView; readonly payeeName: string }
  | { readonly kind: 'confirmation'; readonly title: ForeignText }
  | { readonly kind: 'credential'; readonly title: ForeignText }
  | { readonly kind: 'form'; readonly title?: ForeignText };

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
  readonly mcpServerName: ForeignText;
  /** Tool name claimed by the MCP server; shown as a claim. */
  readonly tool?: string;
}

/** A saved credential. Contains only the fingerprint of its values. */
export interface CredentialItemView {
  /** Description by the MCP server that requested it. */
  readonly title: ForeignText;
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
  readonly renameHref: string;
  /** Confirmation page for the removal. */
  readonly removeHref: string;
}

/** A row that opens to its details. `name` and `notes` are phrasing content. */
export interface AccountRow {
  /** Id of the heading; the actions of the row refer to it. */
  readonly heading: string;
  readonly mark: Html;
  readonly name: Html;
  readonly notes: readonly (Html | undefined)[];
  readonly details: Html;
}

export function accountRow({ heading, mark, name, notes, details }: AccountRow): Html {
  return html`<li class="entry row-item"><details class="row"><summary>${mark}<span class="row-text"><span class="row-name"><h3 id="${heading}">${name}</h3></span>${notes.map(rowNote)}</span></summary>
<div class="row-more">${details}</div></details></li>
`;
}

/** A row that is one link. */
export function linkRow(p: {
  href: string;
  mark: Html;
  name: Html;
  notes: readonly (Html | undefined)[];
  /** A further link below the row. */
  more?: Html | undefined;
}): Html {
  return html`<li class="entry row-item"><a class="row" href="${webUrl(p.href)}">${p.mark}<span class="row-text"><span class="row-name">${p.name}</span>${p.notes.map(rowNote)}</span></a>${p.more}</li>
`;
}

/** A row without details. */
export function plainRow({ mark, name, notes }: Pick<AccountRow, 'mark' | 'name' | 'notes'>): Html {
  return html`<li class="entry row-item"><div class="row">${mark}<span class="row-text"><span class="row-name">${name}</span>${notes.map(rowNote)}</span></div></li>
`;
}

export function rowNote(note: Html | undefined): Html {
  return note === undefined ? html`` : html`<span class="row-note">${note}</span>`;
}

export function waitingEntry(waiting: WaitingView, t: Translator): Html {
  return linkRow({
    href: waiting.openHref,
    mark: appMark(waiting.mcpServer, 'small'),
    name: sentence(waiting, t),
    notes: [asked(waiting, t), html`${hostText(waiting.mcpServer.host)}`, deadline(waiting, 'decision', t)],
    more: manageLink(waiting.manageHref, t),
  });
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

function asked({ mcpServer: { name: mcpServer }, about }: WaitingView, t: Translator): Html | undefined {
  switch (about.kind) {
    case 'authorization':
      return about.permissions === undefined ? undefined : t.html('scope.count', { count: about.permissions });
    case 'payment':
      return t.html('account.payee', { payee: about.payeeName });
    default:
      return about.title === undefined ? undefined : t.html('account.title', { mcpServer, title: about.title });
  }
}

export function credentialEntry(credential: CredentialItemView, index: number, t: Translator): Html {
  const heading = `credential-${index}`;
  const users =
    credential.mcpServers.length === 0
      ? html`<p>${t.html('connection.unused')}</p>`
      : mcpServerList(credential.mcpServers, t);
  return accountRow({
    heading,
    mark: namedMark(foreignPlain(credential.title, t), 'small'),
    name: html`<span translate="no">${foreign(credential.title, t)}</span>`,
    notes: [usedNote(credential.lastUse, t)],
    details: html`${facts([
      fact(t.html('connection.users'), users),
      fingerprintFact(credential.fingerprint, t),
      fact(
        t.html(credential.replaced === true ? 'me.savedAgainAt' : 'me.savedAt'),
        timeText(credential.savedAt, 'stamp', t),
      ),
      fact(t.html('me.lastUse'), lastUseText(credential.lastUse, t)),
    ])}
${entryActions([{ href: credential.deleteHref, label: t.html('me.deleteCredential'), id: `delete-${index}` }], heading)}`,
  });
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
  return accountRow({
    heading,
    mark: icons.person,
    name: html`<span translate="no">${passkey.label}</span>`,
    notes: [html`${t.html('me.addedAt')} ${timeText(passkey.addedAt, 'date', t)}`],
    details: html`${facts([
      fact(t.html('me.addedAt'), timeText(passkey.addedAt, 'stamp', t)),
      fact(t.html('me.lastUse'), lastUsed),
      countsFrom,
    ])}
${entryActions(
  [
    { href: passkey.renameHref, label: t.html('renamePasskey.action'), id: `rename-${index}` },
    { href: passkey.removeHref, label: t.html('me.removePasskey'), id: `remove-${index}` },
  ],
  heading,
)}`,
  });
}

/** Who used an entry last, and on which day. */
export function usedNote(use: LastUseView | undefined, t: Translator): Html {
  return use === undefined
    ? t.html('account.unused')
    : t.html('account.used', { mcpServer: use.mcpServerName, date: timeText(use.at, 'date', t) });
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
export function entryActions(
  actions: readonly { readonly href: string; readonly label: Html; readonly id: string }[],
  describedBy: string,
): Html {
  const links = actions.map(
    ({ href, label, id }) =>
      html`<a class="button small" id="${id}" href="${webUrl(href)}" aria-labelledby="${id} ${describedBy}"><span>${label}</span></a>`,
  );
  return html`<div class="actions">${links}</div>`;
}
