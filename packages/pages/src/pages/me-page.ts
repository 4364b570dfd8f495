/** The account of a signed-in user: what needs attention, connections, saved credentials, passkeys. */
import { foreignPlain } from '../foreign-text.ts';
import { type Html, html, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { personMark, providerMark } from '../marks.ts';
import {
  accountRow,
  type CredentialItemView,
  credentialEntry,
  entryActions,
  type LastUseView,
  lastUseText,
  linkRow,
  type PasskeyItemView,
  passkeyEntry,
  usedNote,
  type WaitingView,
  waitingEntry,
} from '../me-entries.ts';
import { type MutedView, mutedEntry } from '../me-muted.ts';
import { messagePage } from '../message-page.ts';
import {
  fact,
  facts,
  knownScopeList,
  mcpServerList,
  paragraphs,
  personText,
  postForm,
  submitButton,
} from '../parts.ts';
import { hoursText, timeText } from '../times.ts';
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
  /** Links to the pages below this one. */
  readonly historyHref: string;
  /** How long an answer stays in the history. */
  readonly answersKeptHours: number;
  readonly browsersHref: string;
  readonly dataHref: string;
}

export function mePage(context: PageContext, view: MeView): string {
  const t = translatorFor(context);
  const { signedIn } = view;
  const person = signedIn === undefined ? undefined : personHead(signedIn, t);
  const connections = inOrder(view.connections, t);
  const main = html`<h1>${t.html('account.heading')}</h1>
${person}
${group('waiting', t.html('account.attention'), { empty: t.html('account.nothing') }, [
  ...view.waiting.map(waiting => waitingEntry(waiting, t)),
  ...connections.flatMap((connection, index) =>
    connection.lost === undefined ? [] : [lostEntry(connection, index, t)],
  ),
])}
${group(
  'connections',
  t.html('me.connections'),
  { empty: t.html('me.noConnections') },
  connections.map((connection, index) => connectionEntry(connection, index, t)),
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
  (view.muted ?? []).map(muted => mutedEntry(muted, t)),
)}
${group(
  'passkeys',
  t.html('me.passkeys'),
  { about: t.html('me.passkeysText') },
  view.passkeys.map((passkey, index) => passkeyEntry(passkey, index, t)),
  view.addPasskeyHref === undefined ? undefined : { href: view.addPasskeyHref, label: t.html('me.addPasskey') },
)}
${group('more', t.html('account.more'), {}, [
  moreRow(
    view.historyHref,
    icons.clock,
    t.html('account.history'),
    t.html('account.historyText', { hours: hoursText(view.answersKeptHours, t) }),
  ),
  moreRow(view.browsersHref, icons.person, t.html('account.browsers'), t.html('account.browsersText')),
  moreRow(view.dataHref, icons.shield, t.html('account.data'), t.html('account.dataText')),
])}`;
  return layout(context, t, { title: t.plain('account.heading'), main });
}

export interface OpenRequestsView {
  readonly count: number;
  readonly declineAction: string;
  readonly csrfToken: string;
}

/** The account in single-user mode, where no sign-in tells users apart: the number of open requests, without their contents or links. */
export function openRequestsPage(context: PageContext, { count, declineAction, csrfToken }: OpenRequestsView): string {
  const t = translatorFor(context);
  const isNone = count === 0;
  const decline = () =>
    postForm({ action: declineAction, csrfToken }, submitButton(t.html('open.declineAll'), 'plain'));
  return messagePage(context, t, {
    title: isNone ? t.plain('account.nothing') : t.plain('open.heading', { count }),
    icon: isNone ? icons.check : icons.list,
    heading: isNone ? t.html('account.nothing') : t.html('open.heading', { count }),
    texts: isNone ? [] : [t.html('open.text')],
    actions: isNone ? [] : [decline()],
  });
}

/** Who is signed in, in one row with signing out. */
function personHead({ person, signOutAction, csrfToken }: NonNullable<MeView['signedIn']>, t: Translator): Html {
  const form = postForm(
    { action: signOutAction, csrfToken },
    html`<button class="link" type="submit">${t.html('me.signOut')}</button>`,
  );
  return html`<div class="signed-in">${personMark(person)}<p><span class="unseen">${t.html('facts.person')} </span>${personText(person, t)}</p>${form}</div>`;
}

const moreRow = (href: string, mark: Html, name: Html, note: Html) => linkRow({ href, mark, name, notes: [note] });

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
    [providerName, accountName, ...mcpServers.map(({ name }) => foreignPlain(name, t))] as const;
  return connections.toSorted((a, b) => {
    const [ours, theirs] = [namesOf(a), namesOf(b)];
    return ours.map((name, at) => compare(name, theirs[at] ?? '')).find(order => order !== 0) ?? 0;
  });
}

const connectionHeading = (index: number) => `connection-${index}`;

/** Leads to the entry of a connection that the user must renew. */
function lostEntry({ providerName, accountName }: ConnectionView, index: number, t: Translator): Html {
  return linkRow({
    href: `/me#${connectionHeading(index)}`,
    mark: icons.alert,
    name: t.html('account.reconnect', { provider: providerName }),
    notes: [accountName === undefined ? undefined : html`<span translate="no">${accountName}</span>`],
  });
}

function connectionEntry(connection: ConnectionView, index: number, t: Translator): Html {
  const { providerName: provider, accountName, mcpServers, lost } = connection;
  const heading = connectionHeading(index);
  const users = mcpServers.length === 0 ? html`<p>${t.html('connection.unused')}</p>` : mcpServerList(mcpServers, t);
  const scopes =
    connection.scopes.length === 0
      ? html`<p>${t.html('me.scopesUnnamed', { provider })}</p>`
      : knownScopeList(connection.scopes, t);
  return accountRow({
    heading,
    mark: providerMark(connection, 'small'),
    name: html`<span translate="no">${provider}</span>`,
    notes: [
      accountName === undefined ? undefined : html`<span translate="no">${accountName}</span>`,
      lost === undefined ? usedNote(connection.lastUse, t) : html`<strong class="lost">${t.html('me.lost')}</strong>`,
    ],
    details: html`${lost === undefined ? undefined : lostNotice(lost, provider, t)}
${facts([
  fact(t.html('connection.users'), users),
  fact(t.html('me.scopes'), scopes),
  fact(t.html('me.connectedAt'), timeText(connection.connectedAt, 'stamp', t)),
  fact(t.html('me.lastUse'), lastUseText(connection.lastUse, t)),
])}
${entryActions([{ href: connection.disconnectHref, label: t.html('me.disconnect'), id: `disconnect-${index}` }], heading)}`,
  });
}

function lostNotice(lost: NonNullable<ConnectionView['lost']>, provider: string, t: Translator): Html {
  return html`<div class="notice">${paragraphs([t.html(`me.lost.${lost}`, { provider }), t.html('me.lostNext')])}</div>`;
}
