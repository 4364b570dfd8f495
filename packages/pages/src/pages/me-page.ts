/** What a signed-in person has connected, and what waits for their answer. */
import { type Html, html, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { asker, fact, facts, knownScopeList, mcpServerList, monogram, paragraphs, personFact } from '../parts.ts';
import { type Deadline, deadline, timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { ConnectedAccountView, McpServerView, PageContext, PersonView, ScopeView } from '../views.ts';

/** An account as it stands in the list. */
export interface ConnectionView extends ConnectedAccountView {
  readonly scopes: readonly ScopeView[];
  readonly connectedAt: Date;
  readonly lastUse?: {
    readonly at: Date;
    readonly mcpServerName: string;
    /** What the MCP server says; shown as a claim. */
    readonly tool?: string;
  };
  /** Why it is of no use until its person connects it again. */
  readonly lost?: 'refused' | 'rejected' | 'expired';
  /** The page that asks before anything is disconnected. */
  readonly disconnectHref: string;
}

/** A question that is still open. */
export interface WaitingView extends Deadline {
  readonly mcpServer: McpServerView;
  readonly providerName: string;
  readonly openHref: string;
}

export interface MeView {
  /** Absent on one-person machines, where nobody signs in. */
  readonly signedIn?: { readonly person: PersonView; readonly signOutAction: string; readonly csrfToken: string };
  readonly waiting: readonly WaitingView[];
  /** In any order; accounts of one provider come to stand together. */
  readonly connections: readonly ConnectionView[];
}

export function mePage(context: PageContext, view: MeView): string {
  const t = translatorFor(context.locale);
  const { signedIn } = view;
  const person =
    signedIn === undefined
      ? undefined
      : facts([
          personFact(signedIn.person, t, {
            action: signedIn.signOutAction,
            csrfToken: signedIn.csrfToken,
            label: t.html('me.signOut'),
          }),
        ]);
  const main = html`<h1>${t.html('me.heading')}</h1>
<div class="lead"><p>${t.html('me.text')}</p></div>
${person}
${group(
  'waiting',
  t.html('me.waiting'),
  t.html('me.noneWaiting'),
  view.waiting.map((waiting, index) => waitingEntry(waiting, index, t)),
)}
${group(
  'connections',
  t.html('me.connections'),
  t.html('me.noConnections'),
  inOrder(view.connections, t).map((connection, index) => connectionEntry(connection, index, t)),
)}`;
  return layout(context, t, { title: t.plain('me.heading'), main });
}

/** One kind of thing the person has here, or a sentence where there is none of it. */
function group(name: string, heading: Html, empty: Html, entries: readonly Html[]): Html {
  const content =
    entries.length === 0 ? html`<p class="empty">${empty}</p>` : html`<ul class="entries">${entries}</ul>`;
  return html`<section class="group" aria-labelledby="${name}-heading">
<h2 id="${name}-heading">${heading}</h2>
${content}
</section>`;
}

function waitingEntry(waiting: WaitingView, index: number, t: Translator): Html {
  const what = `waiting-${index}`;
  return html`<li class="entry">${asker(waiting.mcpServer, t)}
<div><p id="${what}">${t.html('connect.heading', { mcpServer: waiting.mcpServer.name, provider: waiting.providerName })}</p>
<p class="detail">${deadline(waiting, 'decision', t)}</p></div>
${entryAction({ href: waiting.openHref, label: t.html('me.open'), id: `open-${index}`, describedBy: what })}</li>
`;
}

function inOrder(connections: readonly ConnectionView[], t: Translator): ConnectionView[] {
  const { compare } = new Intl.Collator(t.locale);
  const namesOf = ({ providerName, accountName = '', mcpServers }: ConnectionView) =>
    [providerName, accountName, ...mcpServers.map(({ name }) => name)] as const;
  return connections.toSorted((a, b) => {
    const [ours, theirs] = [namesOf(a), namesOf(b)];
    return ours.map((name, at) => compare(name, theirs[at] ?? '')).find(order => order !== 0) ?? 0;
  });
}

function connectionEntry(connection: ConnectionView, index: number, t: Translator): Html {
  const { providerName: provider, accountName, mcpServers } = connection;
  const heading = `connection-${index}`;
  const account = accountName === undefined ? undefined : html`<p class="detail" translate="no">${accountName}</p>`;
  const users = mcpServers.length === 0 ? html`<p>${t.html('connection.unused')}</p>` : mcpServerList(mcpServers);
  const scopes =
    connection.scopes.length === 0
      ? html`<p>${t.html('me.scopesUnnamed', { provider })}</p>`
      : knownScopeList(connection.scopes, t);
  const works = connection.lost === undefined ? statusBadge(t) : undefined;
  const lost = connection.lost === undefined ? undefined : trouble(connection.lost, provider, t);
  return html`<li class="entry">
<div class="entry-head">${monogram(provider)}<div class="entry-name"><h3 id="${heading}" translate="no">${provider}</h3>${account}</div>${works}</div>
${lost}
${facts([
  fact(t.html('connection.users'), users),
  fact(t.html('me.scopes'), scopes),
  fact(t.html('me.connectedAt'), timeText(connection.connectedAt, 'stamp', t)),
  fact(t.html('me.lastUse'), lastUse(connection, t)),
])}
${entryAction({ href: connection.disconnectHref, label: t.html('me.disconnect'), id: `disconnect-${index}`, describedBy: heading })}</li>
`;
}

function statusBadge(t: Translator): Html {
  return html`<p class="badge good">${icons.check}<span>${t.html('me.works')}</span></p>`;
}

function trouble(lost: NonNullable<ConnectionView['lost']>, provider: string, t: Translator): Html {
  return html`<div class="notice"><p><strong>${t.html('me.lost')}</strong></p>
<div class="more">${paragraphs([t.html(`me.lost.${lost}`, { provider }), t.html('me.lostNext')])}</div></div>`;
}

function lastUse({ lastUse: use }: ConnectionView, t: Translator): Html {
  if (use === undefined) return t.html('me.neverUsed');
  const mcpServer = use.mcpServerName;
  const by =
    use.tool === undefined
      ? t.html('me.usedBy', { mcpServer })
      : t.html('me.usedFor', { mcpServer, tool: html`<span translate="no">${use.tool}</span>` });
  return html`${timeText(use.at, 'stamp', t)}<span class="detail">${by}</span>`;
}

/** Many links of the same words stand on the page, so each is also named by what it belongs to. */
function entryAction(p: { href: string; label: Html; id: string; describedBy: string }): Html {
  return html`<div class="actions"><a class="button small" id="${p.id}" href="${webUrl(p.href)}" aria-labelledby="${p.id} ${p.describedBy}"><span>${p.label}</span></a></div>`;
}
