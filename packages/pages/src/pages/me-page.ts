/** The connections and open elicitations of a signed-in user. */
import { type Html, html, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { providerMark } from '../marks.ts';
import {
  type CredentialItemView,
  credentialEntry,
  entryAction,
  type LastUseView,
  lastUseText,
  type PasskeyItemView,
  passkeyEntry,
  type WaitingView,
  waitingEntry,
} from '../me-entries.ts';
import { type MutedView, mutedEntry } from '../me-muted.ts';
import { fact, facts, knownScopeList, mcpServerList, paragraphs, personFact } from '../parts.ts';
import { timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { ConnectedAccountView, PageContext, PersonView, ScopeView } from '../views.ts';

/** A connected account in the list. */
export interface ConnectionView extends ConnectedAccountView {
  readonly scopes: readonly ScopeView[];
  readonly connectedAt: Date;
  readonly lastUse?: LastUseView;
  /** Why it is unusable until the user connects it again. */
  readonly lost?: 'refused' | 'rejected' | 'expired';
  /** Confirmation page for disconnecting. */
  readonly disconnectHref: string;
}

export interface MeView {
  /** Absent in single-user mode, which has no sign-in. */
  readonly signedIn?: { readonly person: PersonView; readonly signOutAction: string; readonly csrfToken: string };
  readonly waiting: readonly WaitingView[];
  /** In any order; the page groups accounts by provider. */
  readonly connections: readonly ConnectionView[];
  readonly credentials: readonly CredentialItemView[];
  readonly muted?: readonly MutedView[];
  readonly passkeys: readonly PasskeyItemView[];
  /** Link to add another passkey; absent if no passkey can permit it, or if the maximum is reached. */
  readonly addPasskeyHref?: string;
}

export function mePage(context: PageContext, view: MeView): string {
  const t = translatorFor(context);
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
  { empty: t.html('me.noneWaiting') },
  view.waiting.map((waiting, index) => waitingEntry(waiting, index, t)),
)}
${group(
  'connections',
  t.html('me.connections'),
  { empty: t.html('me.noConnections') },
  inOrder(view.connections, t).map((connection, index) => connectionEntry(connection, index, t)),
)}
${group(
  'credentials',
  t.html('me.credentials'),
  {},
  view.credentials.map((credential, index) => credentialEntry(credential, index, t)),
)}
${group(
  'muted',
  t.html('mute.list'),
  {},
  (view.muted ?? []).map((muted, index) => mutedEntry(muted, index, t)),
)}
${group(
  'passkeys',
  t.html('me.passkeys'),
  { about: t.html('me.passkeysText') },
  view.passkeys.map((passkey, index) => passkeyEntry(passkey, index, t)),
  view.addPasskeyHref === undefined ? undefined : { href: view.addPasskeyHref, label: t.html('me.addPasskey') },
)}`;
  return layout(context, t, { title: t.plain('me.heading'), main });
}

/** Renders a list of entries of one kind. An empty list renders `empty`, or nothing if that is absent. */
function group(
  name: string,
  heading: Html,
  words: { readonly empty?: Html; readonly about?: Html },
  entries: readonly Html[],
  action?: { readonly href: string; readonly label: Html },
): Html | undefined {
  if (entries.length === 0 && words.empty === undefined) return undefined;
  const about = words.about === undefined ? undefined : html`<p class="empty">${words.about}</p>`;
  const content =
    entries.length === 0
      ? html`<p class="empty">${words.empty}</p>`
      : html`${about}<ul class="entries">${entries}</ul>`;
  return html`<section class="group" aria-labelledby="${name}-heading">
<h2 id="${name}-heading">${heading}</h2>
${content}
${action === undefined ? undefined : html`<p><a class="link" href="${webUrl(action.href)}">${action.label}</a></p>`}
</section>`;
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
  const lost = connection.lost === undefined ? undefined : lostNotice(connection.lost, provider, t);
  return html`<li class="entry">
<div class="entry-head">${providerMark(connection)}<div class="entry-name"><h3 id="${heading}" translate="no">${provider}</h3>${account}</div>${works}</div>
${lost}
${facts([
  fact(t.html('connection.users'), users),
  fact(t.html('me.scopes'), scopes),
  fact(t.html('me.connectedAt'), timeText(connection.connectedAt, 'stamp', t)),
  fact(t.html('me.lastUse'), lastUseText(connection.lastUse, t)),
])}
${entryAction({ href: connection.disconnectHref, label: t.html('me.disconnect'), id: `disconnect-${index}`, describedBy: heading })}</li>
`;
}

function statusBadge(t: Translator): Html {
  return html`<p class="badge good">${icons.check}<span>${t.html('me.works')}</span></p>`;
}

function lostNotice(lost: NonNullable<ConnectionView['lost']>, provider: string, t: Translator): Html {
  return html`<div class="notice"><p><strong>${t.html('me.lost')}</strong></p>
<div class="more">${paragraphs([t.html(`me.lost.${lost}`, { provider }), t.html('me.lostNext')])}</div></div>`;
}
