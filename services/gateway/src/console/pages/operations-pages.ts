import { attributes, type Html, html, ownPath } from '@postern/pages/html';
import type {
  AuditItem,
  DeadDeliveryItem,
  FoundRecords,
  PersonReport,
  RetryingDeliveryItem,
  WebhookEndpointItem,
} from '../admin-views.ts';
import type { Role } from '../roles.ts';
import { personActButton } from './act-page.ts';
import { type Configured, elicitationTable, type ListView, valueHtml } from './elicitation-pages.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { endpointActs, endpointStatus, webhookTable } from './overview-page.ts';
import {
  anyOf,
  code,
  count,
  countAs,
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

interface Undelivered {
  readonly retrying: readonly RetryingDeliveryItem[];
  readonly dead: readonly DeadDeliveryItem[];
}

/** What a reason means. A status of the response explains itself. */
const reasonTexts: Readonly<Record<string, string>> = {
  blocked: 'the address is not allowed',
  redirect: 'responded with a redirect',
  timeout: 'no response in time',
  unreachable: 'cannot connect',
  stopped: 'a replica stopped meanwhile',
  unreadable: 'of a newer release',
  internal: 'the log of the gateway has the reason',
};

function whyHtml({ reason, httpStatus }: RetryingDeliveryItem | DeadDeliveryItem): Html {
  if (reason === undefined) return optional(undefined);
  if (httpStatus !== undefined) return html`<b>${String(httpStatus)}</b> <span class="soft">HTTP status</span>`;
  return html`<b>${reason}</b> <span class="soft">${reasonTexts[reason]}</span>`;
}

const deliveryCells = (of: RetryingDeliveryItem | DeadDeliveryItem): readonly Html[] => [
  whyHtml(of),
  count(of.attempts),
  html`${of.endpoint}`,
  html`${of.type}`,
  code(of.eventId),
  of.elicitationId === undefined
    ? optional(undefined)
    : html`<a href="${linkTo(`/elicitations/${of.elicitationId}`)}">${code(of.elicitationId)}</a>`,
];
const deliveryColumns = [
  { name: 'Last failure' },
  { name: 'Attempts', isNumber: true },
  { name: 'Endpoint' },
  { name: 'Event' },
  { name: 'Event id' },
  { name: 'Elicitation' },
];

const undelivered = ({ retrying, dead }: Undelivered): Html => html`<h2>Retrying deliveries</h2>
${table({
  caption: 'Retrying deliveries, the soonest next attempt first',
  columns: [{ name: 'Next attempt (UTC)' }, ...deliveryColumns],
  rows: retrying.map(of => [time(of.nextAt), ...deliveryCells(of)]),
  empty: 'No delivery waits for another attempt.',
})}
<h2>Dead deliveries</h2>
${table({
  caption: 'Dead deliveries, newest first',
  columns: [{ name: 'Failed (UTC)' }, ...deliveryColumns],
  rows: dead.map(of => [time(of.failedAt), ...deliveryCells(of)]),
  empty: 'No delivery is dead.',
})}`;

export function webhooksPage(
  page: SignedInPage,
  p: Undelivered & { readonly endpoints: readonly WebhookEndpointItem[] },
): string {
  return consolePage(page, {
    title: 'Webhooks',
    at: '/webhooks',
    main: html`${webhookTable(p.endpoints, page.role)}
${undelivered(p)}`,
  });
}

/** One endpoint, with the acts that are possible now. */
export function endpointPage(page: SignedInPage, of: WebhookEndpointItem, p: Undelivered): string {
  return consolePage(page, {
    title: of.endpoint,
    at: '/webhooks',
    above: html`<nav class="trail" aria-label="You are here"><a href="${linkTo('/webhooks')}">Webhooks</a></nav>`,
    main: html`${facts([
      ['Host', html`${of.host}`],
      ['Status', status(endpointStatus(of))],
      ['Disabled because', of.reason === undefined ? undefined : html`${disabledTexts[of.reason]}`],
      ['Disabled (UTC)', of.disabledAt === undefined ? undefined : time(of.disabledAt)],
      ['Failing since (UTC)', of.failingSince === undefined ? undefined : time(of.failingSince)],
      ['Waiting for the first attempt', count(of.waiting)],
      ['Under way', count(of.underWay)],
      ['Retrying', countAs('retrying', of.delayed)],
      ['Dead', countAs('undelivered', of.dead)],
      ['Act', page.role === 'operator' ? endpointActs(of) : undefined],
    ])}
${undelivered(p)}`,
  });
}

const disabledTexts = { gone: 'the receiver responded 410', failing: 'every attempt failed for 72 hours' };

/** @param notice why the form was refused */
export function auditPage(
  page: SignedInPage,
  { query, items, next }: ListView<AuditItem>,
  configured: Configured,
  notice?: string,
): string {
  return consolePage(page, {
    title: 'Audit',
    at: '/audit',
    main: html`${notice === undefined ? undefined : html`<p class="warning" role="alert">${notice}</p>`}<p class="soft">What operators did is always here; events of people only while <code>audit.stream</code> is on.</p>${filters(
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
      page.csrfToken,
    )}
${auditTable(items, next === undefined ? 'No line matches.' : 'No line on this page matches. There are more pages.')}
${pager('/audit', query, next)}`,
  });
}

const auditTable = (items: readonly AuditItem[], empty: string, isOpen = false): Html =>
  table({
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
      html`<details${attributes({ open: isOpen })}><summary>All fields</summary>${facts(Object.entries(line).map(([name, value]) => [name, valueHtml(value)]))}</details>`,
    ]),
    empty,
  });

const hitNames: Readonly<Record<FoundRecords['hits'][number]['what'], string>> = {
  elicitation: 'Elicitation',
  payment: 'Payment',
  connection: 'Connection',
  credential: 'Credential',
  job: 'Job',
  api_key: 'API key',
};

/** The page of a record. An elicitation is the page of one person. */
function hitHref({ what, id, elicitationId = id }: FoundRecords['hits'][number], role: Role) {
  if (what === 'payment') return linkTo(`/payments/${elicitationId}`);
  if (what === 'job') return linkTo(`/jobs/${id}`);
  if (what === 'api_key') return linkTo('/audit', { apiKey: id });
  return role === 'viewer' ? undefined : linkTo(`/elicitations/${elicitationId}`);
}

/** What else an operator can do about a text that leads nowhere. */
function notFoundNote({ asked, hits, lines }: FoundRecords): Html | undefined {
  if (asked === 'secret')
    return html`<p class="warning">That is a secret, not an id. The gateway neither searched nor logged it. It is no longer secret: revoke it.${hits.length > 0 ? ' It belongs to this API key:' : undefined}</p>`;
  if (asked === 'request_id' && lines.length === 0)
    return html`<p class="warning">The audit trail has no line of this request. Lines of people are there only while <code>audit.stream</code> is on, and of many error pages in a minute only some. The log of the replicas has them: search it for the number, in <code>requestId</code>.</p>`;
  if (hits.length + lines.length === 0)
    return html`<p class="empty">Nothing found. Elicitations are kept for <code>retention.endedHours</code> after their end. For a payment that is older, the processor has the id of its elicitation in its metadata.</p>`;
  return undefined;
}

/** Lines that are shown with all fields. */
const OPEN_LINES = 3;

/** Results do not repeat the text: it may be a secret. */
export function findPage(page: SignedInPage, found?: FoundRecords): string {
  const results =
    found === undefined
      ? undefined
      : html`${notFoundNote(found)}${
          found.hits.length === 0
            ? undefined
            : table({
                caption: 'Records',
                columns: [
                  { name: 'What' },
                  { name: 'Id' },
                  { name: 'Status' },
                  { name: 'MCP server' },
                  { name: 'Since (UTC)' },
                ],
                rows: found.hits.map(hit => {
                  const href = hitHref(hit, page.role);
                  const id = code(hit.id);
                  return [
                    html`${hitNames[hit.what]}`,
                    href === undefined ? id : html`<a href="${href}">${id}</a>`,
                    hit.status === undefined ? optional(undefined) : status(hit.status),
                    optional(hit.mcpServerId),
                    hit.at === undefined ? optional(undefined) : time(hit.at),
                  ];
                }),
                empty: '',
              })
        }${found.lines.length === 0 ? undefined : html`<h2>Audit trail</h2>${auditTable(found.lines, '', found.lines.length <= OPEN_LINES)}`}${found.isComplete ? undefined : html`<p class="soft">There are older records or lines that the search has not read.</p>`}`;
  return consolePage(page, {
    title: 'Find',
    at: '/find',
    main: html`<p class="soft">By the number of an error page (<code>rq_…</code>), the id or link of an elicitation, the code in the app, a receipt number, a reference of an order or a payment processor, or a pseudonym. What you type is in no URL and no log.</p>${results}`,
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
