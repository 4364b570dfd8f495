import { type Html, html, joinHtml } from '@postern/pages/html';
import type { ElicitationDetail, ElicitationItem } from '../admin-views.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { anyOf, code, facts, filters, linkTo, optional, pager, status, table, time, timeOrNone } from './parts.ts';

export const kinds = ['authorization', 'payment', 'confirmation', 'credential', 'form'] as const;
export const statuses = {
  open: ['pending', 'active', 'verifying'],
  ended: ['completed', 'declined', 'failed', 'cancelled', 'expired'],
} as const;

/** A list as one page shows it: its filters are the query of its permanent link. */
export interface ListView<Item> {
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly items: readonly Item[];
  readonly next?: string | undefined;
}

/** Names of what the configuration has, for filters. */
export interface Configured {
  readonly mcpServers: readonly string[];
  readonly providers: readonly string[];
}

export function elicitationsPage(
  page: SignedInPage,
  { query, items, next }: ListView<ElicitationItem>,
  configured: Configured,
): string {
  const phase = query['phase'] === 'ended' ? 'ended' : 'open';
  return consolePage(page, {
    title: 'Elicitations',
    at: '/elicitations',
    main: html`${filters('/elicitations', [
      {
        name: 'phase',
        label: 'Phase',
        value: phase,
        choices: [
          { value: 'open', text: 'open' },
          { value: 'ended', text: 'ended' },
        ],
      },
      { name: 'status', label: 'Status', value: query['status'] ?? '', choices: anyOf('any status', statuses[phase]) },
      { name: 'kind', label: 'Kind', value: query['kind'] ?? '', choices: anyOf('any kind', kinds) },
      {
        name: 'mcpServer',
        label: 'MCP server',
        value: query['mcpServer'] ?? '',
        choices: anyOf('any MCP server', configured.mcpServers),
      },
      {
        name: 'provider',
        label: 'Provider',
        value: query['provider'] ?? '',
        choices: anyOf('any provider', configured.providers),
      },
    ])}
${elicitationTable(items, phase, next === undefined ? 'No elicitation matches.' : 'No elicitation on this page matches. There are more pages.')}
${pager('/elicitations', query, next)}`,
  });
}

/** @param phase of the items; absent if they are mixed */
export function elicitationTable(
  items: readonly ElicitationItem[],
  phase: 'open' | 'ended' | undefined,
  empty: string,
): Html {
  return table({
    caption: 'Elicitations, newest first',
    columns: [
      { name: 'Elicitation' },
      { name: 'Status' },
      { name: 'Kind' },
      { name: 'MCP server' },
      { name: 'Provider' },
      { name: 'Tool' },
      { name: 'Person (pseudonym)' },
      { name: 'Issued (UTC)' },
      ...(phase === 'open' ? [{ name: 'Expires (UTC)' }] : [{ name: 'Ended (UTC)' }]),
    ],
    rows: items.map(item => [
      html`<a href="${linkTo(`/elicitations/${item.elicitationId}`)}">${code(item.elicitationId)}</a>`,
      html`${status(item.status)}${item.failure === undefined ? undefined : html` <span class="soft">${item.failure}</span>`}`,
      html`${item.kind}`,
      html`${item.mcpServerId}`,
      optional(item.provider),
      optional(item.tool),
      code(item.subject),
      time(item.createdAt),
      timeOrNone(phase === 'open' ? item.expiresAt : item.endedAt),
    ]),
    empty,
  });
}

export function elicitationPage(page: SignedInPage, of: ElicitationDetail): string {
  const { elicitationId, person, timeline, asked, kind, mcpServerId, subject, createdAt, expiresAt, endedAt } = of;
  const acts =
    page.role === 'operator' && endedAt === undefined
      ? html`<p><a class="button" href="${linkTo(`/elicitations/${elicitationId}/cancel`)}">Cancel this elicitation…</a></p>`
      : undefined;
  const payment =
    kind === 'payment'
      ? html`<p><a href="${linkTo(`/payments/${elicitationId}`)}">Payment, refunds and disputes</a></p>`
      : undefined;
  const incomplete = of.isTimelineComplete
    ? undefined
    : html`<p class="soft">The audit trail has more lines than this page reads. <code>postern audit --mcp-server</code> reads all.</p>`;
  return consolePage(page, {
    title: `Elicitation ${elicitationId.slice(0, 12)}…`,
    at: '/elicitations',
    above: html`<nav class="trail" aria-label="You are here"><a href="${linkTo('/elicitations')}">Elicitations</a></nav>`,
    main: html`<p>${status(of.status)} ${kind} of <b>${mcpServerId}</b></p>${payment}${acts}
<div class="two">
<section aria-labelledby="timeline"><h2 id="timeline">Timeline (UTC)</h2>${timelineOf(timeline)}${incomplete}</section>
<section aria-labelledby="facts"><h2 id="facts">Facts</h2>
${facts([
  ['Elicitation', html`<code class="whole">${elicitationId}</code>`],
  ['Match code', html`${of.matchCode}`],
  ['Issuer', html`${person.issuer}`],
  ['Subject', html`<code class="whole">${person.subject}</code>`],
  ['Pseudonym', html`<code class="whole">${subject}</code>`],
  ['Identity mode', html`${of.identityMode}`],
  [
    'Asked by',
    'claimedToBeAskedBy' in of && of.claimedToBeAskedBy !== undefined ? valueHtml(of.claimedToBeAskedBy) : undefined,
  ],
  ['Issued', time(createdAt)],
  ['Expires', time(expiresAt)],
  ['Ended', endedAt === undefined ? undefined : time(endedAt)],
  ...Object.entries(asked).map(
    ([name, value]) => [`Asked: ${wordsOf(name)}`, value === undefined ? undefined : valueHtml(value)] as const,
  ),
  ...resultOf(of),
])}</section>
</div>`,
  });
}

const shownAlready: ReadonlySet<string> = new Set([
  ...['elicitationId', 'matchCode', 'kind', 'status', 'mcpServerId', 'claimedToBeAskedBy', 'subject', 'identityMode'],
  ...['createdAt', 'expiresAt', 'endedAt', 'version', 'asked', 'person', 'timeline', 'isTimelineComplete'],
]);

/** How it ended, or how its current attempt stands: members that depend on kind and status. */
function resultOf(of: ElicitationDetail): readonly (readonly [string, Html | undefined])[] {
  return Object.entries(of)
    .filter(([name, value]) => !shownAlready.has(name) && value !== undefined)
    .map(([name, value]) => {
      const words = wordsOf(name);
      return [`${words.charAt(0).toUpperCase()}${words.slice(1)}`, valueHtml(value)];
    });
}

/** `insistsOnAccount` as `insists on account`. */
const wordsOf = (name: string) => name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);

/** Any JSON value as text. Members of objects become a list. */
export function valueHtml(value: unknown): Html {
  if (value === undefined || value === null) return optional(undefined);
  if (Array.isArray(value)) return html`${value.map(String).join(', ') || '–'}`;
  if (typeof value === 'boolean') return html`${value ? 'yes' : 'no'}`;
  if (typeof value !== 'object') return html`${String(value)}`;
  return facts(
    Object.entries(value).map(([name, inner]) => [name, inner === undefined ? undefined : valueHtml(inner)]),
  );
}

function timelineOf(timeline: ElicitationDetail['timeline']): Html {
  if (timeline.length === 0) return html`<p class="empty">No events are retained.</p>`;
  const entries = timeline.map(entry => {
    const requestId = 'requestId' in entry ? entry.requestId : undefined;
    const request = requestId === undefined ? undefined : html`<p class="soft">request <code>${requestId}</code></p>`;
    const detail = Object.entries(entry.detail).filter(
      ([name, value]) => value !== undefined && !['elicitationId', 'mcpServerId', 'subject'].includes(name),
    );
    const more =
      detail.length === 0
        ? undefined
        : html`<details><summary>Details</summary>${facts(detail.map(([name, value]) => [name, valueHtml(value)]))}</details>`;
    return html`<li>${time(entry.at)}<p><b>${entry.name}</b> <span class="source">${entry.source}</span></p>${request}${more}</li>`;
  });
  return html`<ol class="timeline">${joinHtml(entries)}</ol>`;
}
