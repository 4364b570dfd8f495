/** The user's data as a whole: the choices, disconnecting all accounts, deleting everything. */
import { actionBar } from '../decision-parts.ts';
import { type Html, html, ownText } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, nameList, postForm, submitButton } from '../parts.ts';
import { hoursText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface DataView {
  /** Target of the POST that answers with the file. */
  readonly exportAction: string;
  readonly disconnectHref: string;
  readonly eraseHref: string;
  readonly csrfToken: string;
  readonly backHref: string;
}

export function dataPage(context: PageContext, view: DataView): string {
  const t = translatorFor(context);
  const { csrfToken } = view;
  const part = (name: 'export' | 'disconnect' | 'erase', text: Html, action: Html) =>
    html`<section class="group" aria-labelledby="${name}-heading">
<h2 id="${name}-heading">${t.html(`data.${name}`)}</h2>
<p class="empty">${text}</p>
<div class="actions">${action}</div>
</section>`;
  const main = html`<h1>${t.html('data.heading')}</h1>
${part(
  'export',
  t.html('data.exportText', { brand: context.branding.name }),
  postForm({ action: view.exportAction, csrfToken }, submitButton(t.html('data.exportAction'), 'plain')),
)}
${part(
  'disconnect',
  t.html('data.disconnectText'),
  linkButton(view.disconnectHref, t.html('data.disconnectAction'), 'plain'),
)}
${part('erase', t.html('data.eraseText'), linkButton(view.eraseHref, t.html('data.eraseAction'), 'plain'))}
<div class="actions">${linkButton(view.backHref, t.html('account.back'), 'plain')}</div>`;
  return layout(context, t, { title: t.plain('data.heading'), main });
}

export interface DisconnectAllView {
  /** Number of connected accounts. */
  readonly count: number;
  /** Names of the providers that will be asked to end the access, and of those that cannot. */
  readonly revoked: readonly string[];
  readonly unsupported: readonly string[];
  readonly action: string;
  readonly keepHref: string;
  readonly csrfToken: string;
}

/** Says what disconnecting all accounts does, and to how many. */
export function disconnectAllPage(context: PageContext, view: DisconnectAllView): string {
  const t = translatorFor(context);
  const brand = context.branding.name;
  const consequences = [
    t.html('disconnectAll.access'),
    t.html('disconnectAll.deleted', { brand }),
    ...(view.revoked.length === 0 ? [] : [t.html('disconnectAll.revoke', { providers: nameList(view.revoked, t) })]),
    ...(view.unsupported.length === 0
      ? []
      : [t.html('disconnectAll.unsupported', { providers: nameList(view.unsupported, t), brand })]),
    t.html('disconnectAll.again'),
  ];
  const main = html`<h1>${t.html('disconnectAll.heading')}</h1>
${facts([fact(t.html('disconnectAll.accounts'), html`<span class="value">${ownText(String(view.count))}</span>`)])}
${listed('consequences', t.html('disconnect.consequences'), consequences)}
${actionBar({ buttons: [linkButton(view.keepHref, t.html('disconnectAll.keep'), 'plain'), postForm({ action: view.action, csrfToken: view.csrfToken }, submitButton(t.html('disconnectAll.confirm'), 'danger'))] }, t)}`;
  return layout(context, t, { title: t.plain('disconnectAll.heading'), main });
}

/** Names of providers by what they answered. */
export interface RevokedView {
  readonly revoked: readonly string[];
  readonly pending: readonly string[];
  readonly unsupported: readonly string[];
}

export function disconnectedAllPage(context: PageContext, view: RevokedView & { readonly backHref: string }): string {
  const t = translatorFor(context);
  const all = [...view.revoked, ...view.pending, ...view.unsupported];
  return messagePage(context, t, {
    title: t.plain('disconnectedAll.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('disconnectedAll.heading'),
    texts: all.length === 0 ? [t.html('disconnectedAll.none')] : [],
    body: revocations(context, view, t),
    actions: [linkButton(view.backHref, t.html('account.back'), 'plain')],
  });
}

export interface EraseView {
  readonly action: string;
  readonly keepHref: string;
  readonly csrfToken: string;
  /** The user has passkeys, which stay. */
  readonly hasPasskeys: boolean;
  /** How long an answer stays. */
  readonly answersKeptHours: number;
}

/** Says what is deleted, what stays, and why. */
export function erasePage(context: PageContext, view: EraseView): string {
  const t = translatorFor(context);
  const brand = context.branding.name;
  const main = html`<h1>${t.html('erase.heading')}</h1>
${listed('deleted', t.html('erase.deleted'), [
  t.html('erase.connections'),
  t.html('erase.credentials'),
  t.html('erase.waiting'),
  t.html('erase.mutes'),
  t.html('erase.browsers', { brand }),
])}
${listed('stays', t.html('erase.stays'), [
  ...(view.hasPasskeys ? [t.html('erase.passkeys')] : []),
  t.html('erase.answers', { hours: hoursText(view.answersKeptHours, t) }),
  t.html('erase.charging'),
  t.html('erase.payments'),
  t.html('erase.audit'),
  t.html('erase.apps'),
])}
${actionBar({ buttons: [linkButton(view.keepHref, t.html('erase.keep'), 'plain'), postForm({ action: view.action, csrfToken: view.csrfToken }, submitButton(t.html('erase.confirm'), 'danger'))] }, t)}`;
  return layout(context, t, { title: t.plain('erase.heading'), main });
}

export function erasedPage(context: PageContext, view: RevokedView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('erased.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('erased.heading'),
    texts: [t.html('erased.text')],
    body: revocations(context, view, t),
  });
}

function revocations(context: PageContext, { revoked, pending, unsupported }: RevokedView, t: Translator): Html {
  const row = (label: Html, names: readonly string[]) =>
    names.length === 0 ? undefined : fact(label, html`<span translate="no">${nameList(names, t)}</span>`);
  const rows = [
    row(t.html('disconnectedAll.revoked'), revoked),
    row(t.html('disconnectedAll.pending'), pending),
    row(t.html('disconnectedAll.unsupported', { brand: context.branding.name }), unsupported),
  ];
  return rows.every(each => each === undefined) ? html`` : facts(rows);
}

function listed(name: string, heading: Html, texts: readonly Html[]): Html {
  return html`<section class="permissions" aria-labelledby="${name}-heading">
<h2 id="${name}-heading">${heading}</h2>
<ul class="scopes">${texts.map(text => html`<li>${text}</li>`)}</ul>
</section>`;
}
