import { html, ownPath } from '@postern/pages/html';
import type { AuditItem, DeadDeliveryItem, PersonReport, WebhookEndpointItem } from '../admin-views.ts';
import { personActButton } from './act-page.ts';
import { type Configured, elicitationTable, type ListView, valueHtml } from './elicitation-pages.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { webhookTable } from './overview-page.ts';
import {
  anyOf,
  code,
  count,
  facts,
  filters,
  linkTo,
  optional,
  pager,
  status,
  table,
  time,
  timeOrNone,
} from './parts.ts';

export function webhooksPage(
  page: SignedInPage,
  p: {
    readonly endpoint: string | undefined;
    readonly endpoints: readonly WebhookEndpointItem[];
    readonly dead: readonly DeadDeliveryItem[];
  },
): string {
  return consolePage(page, {
    title: 'Webhooks',
    at: '/webhooks',
    main: html`${webhookTable(p.endpoints, page.role)}
<h2>Dead deliveries</h2>
${filters('/webhooks', [
  {
    name: 'endpoint',
    label: 'Endpoint',
    value: p.endpoint ?? '',
    choices: anyOf(
      'any endpoint',
      p.endpoints.map(({ endpoint }) => endpoint),
    ),
  },
])}
${table({
  caption: 'Dead deliveries, newest first',
  columns: [
    { name: 'Failed (UTC)' },
    { name: 'Event' },
    { name: 'Event id' },
    { name: 'Elicitation' },
    { name: 'Attempts', isNumber: true },
  ],
  rows: p.dead.map(({ failedAt, type, eventId, elicitationId, ...rest }) => [
    time(failedAt),
    html`${type}`,
    code(eventId),
    elicitationId === undefined
      ? optional(undefined)
      : html`<a href="${linkTo(`/elicitations/${elicitationId}`)}">${code(elicitationId)}</a>`,
    'attempts' in rest && typeof rest.attempts === 'number' ? count(rest.attempts) : optional(undefined),
  ]),
  empty: 'No delivery is dead.',
})}`,
  });
}

export function auditPage(
  page: SignedInPage,
  { query, items, next }: ListView<AuditItem>,
  configured: Configured,
): string {
  return consolePage(page, {
    title: 'Audit',
    at: '/audit',
    main: html`<p class="soft">What operators did is always here; events of people only while <code>audit.stream</code> is on.</p>${filters(
      '/audit',
      [
        { name: 'event', label: 'Event', value: query['event'] ?? '', type: 'text' },
        {
          name: 'mcpServer',
          label: 'MCP server',
          value: query['mcpServer'] ?? '',
          choices: anyOf('any MCP server', configured.mcpServers),
        },
        { name: 'apiKey', label: 'API key (id)', value: query['apiKey'] ?? '', type: 'text' },
        { name: 'since', label: 'From (UTC)', value: query['since'] ?? '', type: 'date' },
        { name: 'until', label: 'Before (UTC)', value: query['until'] ?? '', type: 'date' },
      ],
    )}
${table({
  caption: 'Audit trail, newest first',
  columns: [
    { name: 'Time (UTC)' },
    { name: 'Event' },
    { name: 'Who' },
    { name: 'MCP server' },
    { name: 'Request' },
    { name: 'Line' },
  ],
  rows: items.map(({ time: at, event, line }) => [
    time(at),
    html`<b>${event}</b>`,
    'operator' in line ? optional(textIn(line, 'operator')) : codeOf(textIn(line, 'subject')),
    optional(textIn(line, 'mcpServerId')),
    codeOf(textIn(line, 'requestId')),
    html`<details><summary>All fields</summary>${facts(Object.entries(line).map(([name, value]) => [name, valueHtml(value)]))}</details>`,
  ]),
  empty: next === undefined ? 'No line matches.' : 'No line on this page matches. There are more pages.',
})}
${pager('/audit', query, next)}`,
  });
}

const codeOf = (text: string | undefined) => (text === undefined ? optional(undefined) : code(text));

function textIn(line: AuditItem['line'], name: string): string | undefined {
  const value = line[name];
  return typeof value === 'string' ? value : undefined;
}

/** Looks a person up. The form is a POST, because a URL with the subject would reach logs of proxies and the history of browsers. */
export function peoplePage(
  page: SignedInPage,
  p: { readonly issuers: readonly string[]; readonly report?: PersonReport },
): string {
  const { report } = p;
  return consolePage(page, {
    title: 'People',
    at: '/people',
    main: html`<p class="soft">Looking at a person is recorded in the audit trail with your name and the reason.</p>
<form class="filters" method="post" action="${ownPath('/people')}" autocomplete="off"><input type="hidden" name="csrf_token" value="${page.csrfToken}">
<label><span>Issuer</span><select name="issuer">${p.issuers.map(issuer => html`<option value="${issuer}">${issuer}</option>`)}</select></label>
<label><span>Subject</span><input type="text" name="subject" required value="${report?.person.subject ?? ''}"></label>
<label><span>Reason</span><input type="text" name="reason" required></label><button>Look up</button></form>
${report === undefined ? undefined : personReport(report, page)}`,
  });
}

function personReport(report: PersonReport, page: SignedInPage) {
  const { issuer, subject } = report.person;
  const acts =
    page.role === 'operator'
      ? html`<div class="acts">${personActButton(page, { path: '/people/disconnect', issuer, subject, text: 'Disconnect…' })}${personActButton(page, { path: '/people/sign-out', issuer, subject, text: 'Sign out…' })}</div>`
      : undefined;
  return html`<h2>Person</h2>${acts}${facts([
    ['Issuer', html`${report.person.issuer}`],
    ['Subject', html`<code class="whole">${report.person.subject}</code>`],
    ['Pseudonym', html`<code class="whole">${report.person.pseudonym}</code>`],
  ])}
<h2>Connections</h2>${table({
    caption: 'Connections of this person',
    columns: [
      { name: 'Connection' },
      { name: 'Status' },
      { name: 'Provider' },
      { name: 'Owner' },
      { name: 'Connected (UTC)' },
    ],
    rows: report.connections.map(item => [
      html`<a href="${linkTo(`/elicitations/${item.elicitationId}`)}">${code(item.connectionId)}</a>`,
      status(item.lost === undefined ? 'connected' : 'lost'),
      html`${item.provider}`,
      html`${item.owner}`,
      time(item.connectedAt),
    ]),
    empty: 'No connections.',
  })}
<h2>Credentials</h2>${table({
    caption: 'Credentials of this person',
    columns: [{ name: 'Credential' }, { name: 'Name' }, { name: 'Owner' }, { name: 'Saved (UTC)' }],
    rows: report.credentials.map(item => [
      code(item.credentialId),
      html`${item.name}`,
      html`${item.owner}`,
      time(item.savedAt),
    ]),
    empty: 'No credentials.',
  })}
<h2>Elicitations</h2>${elicitationTable([...report.open, ...report.ended], undefined, 'No elicitations.')}
<h2>Browser sessions</h2>${table({
    caption: 'Browser sessions of this person',
    columns: [{ name: 'Browser' }, { name: 'Signed in (UTC)' }, { name: 'Ends (UTC)' }],
    rows: report.browserSessions.map(item => [optional(item.browser), time(item.signedInAt), time(item.endsAt)]),
    empty: 'No browser sessions.',
  })}
<h2>Passkeys</h2>${table({
    caption: 'Passkeys of this person',
    columns: [{ name: 'Name' }, { name: 'Added (UTC)' }, { name: 'Last use (UTC)' }],
    rows: report.passkeys.map(item => [html`${item.name}`, time(item.addedAt), timeOrNone(item.lastUsedAt)]),
    empty: 'No passkeys.',
  })}
<h2>Muted MCP servers</h2>${table({
    caption: 'MCP servers that this person muted',
    columns: [{ name: 'MCP server' }, { name: 'Muted (UTC)' }],
    rows: report.mutedMcpServers.map(item => [html`${item.mcpServerId}`, time(item.mutedAt)]),
    empty: 'None.',
  })}`;
}
