import { type Html, html, ownPath, ownText } from '@postern/pages/html';
import { z } from 'zod';
import type { PersonReport } from '../../admin/people.ts';
import { csrfField, reasonField } from '../console-guard.ts';
import { consolePage, type SignedInPage } from '../pages/layout.ts';
import { type Column, code, counted, facts, jobPath, link, status, table, time, whole } from '../pages/parts.ts';
import { act, type ConsoleRoute, forRole } from '../section.ts';
import { disconnectPlan, elicitationColumns } from '../shown-records.ts';

const form = z.strictObject({
  csrf_token: csrfField,
  issuer: z.string().max(2000),
  subject: z.string().min(1).max(500),
  reason: reasonField,
});
const personValues = z.strictObject({ issuer: z.string().min(1).max(2000), subject: z.string().min(1).max(500) });

/** Looks a person up. The form is a POST, because a URL with the subject would reach logs of proxies and the history of browsers. */
const peoplePage = (page: SignedInPage, issuers: readonly string[], report?: PersonReport): string =>
  consolePage(page, {
    at: '/people',
    main: html`<p class="soft">Looking at a person is recorded in the audit trail with your name and the reason.</p>
<form class="filters" method="post" action="${ownPath('/people')}" autocomplete="off"><input type="hidden" name="csrf_token" value="${page.csrfToken}">
<label><span>Issuer</span><select name="issuer">${issuers.map(issuer => html`<option value="${issuer}">${issuer}</option>`)}</select></label>
<label><span>Subject</span><input type="text" name="subject" required value="${report?.person.subject ?? ''}"></label>
<label><span>Reason</span><input type="text" name="reason" required></label><button>Look up</button></form>
${report && personReport(report, page)}`,
  });

/** Button that opens the page of an act about a person. The subject is in the form, never in a URL. */
const actButton = (
  { csrfToken }: SignedInPage,
  { issuer, subject }: PersonReport['person'],
  act: string,
  text: string,
) =>
  html`<form method="post" action="${ownPath(`/people/${act}`)}"><input type="hidden" name="csrf_token" value="${csrfToken}"><input type="hidden" name="issuer" value="${issuer}"><input type="hidden" name="subject" value="${subject}"><button class="quiet">${text}</button></form>`;

function personReport(of: PersonReport, page: SignedInPage): Html {
  const { person } = of;
  const part = <Item>(
    title: string,
    caption: string,
    items: readonly Item[],
    columns: readonly Column<Item>[],
    empty = `No ${title.toLowerCase()}.`,
  ) => html`<h2>${ownText(title)}</h2>${table({ caption, columns, items, empty })}`;
  const acts =
    page.role === 'operator'
      ? html`<div class="acts">${actButton(page, person, 'disconnect', 'Disconnect…')}${actButton(page, person, 'sign-out', 'Sign out…')}</div>`
      : undefined;
  return html`<h2>Person</h2>${acts}${facts([
    ['Issuer', person.issuer],
    ['Subject', whole(person.subject)],
    ['Pseudonym', whole(person.pseudonym)],
  ])}
${part('Connections', 'Connections of this person', of.connections, [
  { name: 'Connection', cell: each => link(`/elicitations/${each.elicitationId}`, code(each.connectionId)) },
  { name: 'Status', cell: each => status(each.lost === undefined ? 'connected' : 'lost') },
  { name: 'Provider', cell: each => each.provider },
  { name: 'Owner', cell: each => each.owner },
  { name: 'Connected (UTC)', cell: each => time(each.connectedAt) },
])}
${part('Credentials', 'Credentials of this person', of.credentials, [
  { name: 'Credential', cell: each => code(each.credentialId) },
  { name: 'Name', cell: each => each.name },
  { name: 'Owner', cell: each => each.owner },
  { name: 'Saved (UTC)', cell: each => time(each.savedAt) },
])}
${part('Elicitations', 'Elicitations, newest first', [...of.open, ...of.ended], elicitationColumns())}
${part('Browser sessions', 'Browser sessions of this person', of.browserSessions, [
  { name: 'Browser', cell: each => each.browser },
  { name: 'Signed in (UTC)', cell: each => time(each.signedInAt) },
  { name: 'Ends (UTC)', cell: each => time(each.endsAt) },
])}
${part('Passkeys', 'Passkeys of this person', of.passkeys, [
  { name: 'Name', cell: each => each.name },
  { name: 'Added (UTC)', cell: each => time(each.addedAt) },
  { name: 'Last use (UTC)', cell: each => time(each.lastUsedAt) },
])}
${part(
  'Muted MCP servers',
  'MCP servers that this person muted',
  of.mutedMcpServers,
  [
    { name: 'MCP server', cell: each => each.mcpServerId },
    { name: 'Muted (UTC)', cell: each => time(each.mutedAt) },
  ],
  'None.',
)}`;
}

export const people: readonly ConsoleRoute[] = [
  ({ app, admin, guard, pageFor, configured: { issuers } }) => {
    app.get('/people', forRole('support'), async (request, reply) => reply.send(peoplePage(pageFor(request), issuers)));

    app.post('/people', forRole('support'), async (request, reply) => {
      const { issuer, subject, reason } = await guard.readForm(request, form);
      const report = await admin.person({ ...guard.visitOf(request).actor, reason }, { issuer, subject });
      return reply.send(peoplePage(pageFor(request), issuers, report));
    });
  },

  act({
    path: '/people/disconnect',
    at: '/people',
    title: 'Disconnect',
    namesPerson: true,
    values: personValues,
    plan: async ({ admin, actor }, subject) =>
      disconnectPlan(await admin.planDisconnect(actor, { subject }), { subject }),
    perform: async ({ admin, actor }, subject) => jobPath(await admin.startDisconnect(actor, { subject })),
  }),

  act({
    path: '/people/sign-out',
    at: '/people',
    title: 'Sign a person out',
    namesPerson: true,
    values: personValues,
    async plan({ admin, actor }, subject) {
      const { found } = await admin.signOutPerson(actor, subject, { dryRun: true });
      return {
        about: facts([
          ['Issuer', subject.issuer],
          ['Subject', whole(subject.subject)],
        ]),
        says: html`<p>This ends ${counted(found, 'browser session', 'browser sessions')} of this person at this gateway, on every replica. It ends no session at the identity provider and no session of an MCP client.</p>`,
        button: 'Sign out everywhere',
      };
    },
    async perform({ admin, actor }, subject) {
      await admin.signOutPerson(actor, subject, { dryRun: false });
      return '/audit?event=admin.person_signed_out';
    },
  }),
];
