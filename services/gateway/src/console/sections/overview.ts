import { type Html, html } from '@postern/pages/html';
import { z } from 'zod';
import type { WebhookEndpointItem } from '../../admin/overview.ts';
import { createSharedReads } from '../../admin/paced-reads.ts';
import { barChart, type ChartView, partsBar, sum } from '../pages/charts.ts';
import { consolePage, type SignedInPage } from '../pages/layout.ts';
import { type Column, code, countAs, link, linkTo, noteAfter, status, table, time, utcTime } from '../pages/parts.ts';
import { type ConsoleRoute, forRole, queryOf, type Returned } from '../section.ts';
import { ageHtml, utc, webhookTable } from '../shown-records.ts';

type Counts = Returned<'counts'>;
type Health = Returned<'health'>;
type Step = Counts['steps'][number];

/** Periods of the overview. */
const ranges = {
  day: { name: '24 hours', hours: 24, by: 'hour' },
  week: { name: '7 days', hours: 7 * 24, by: 'day' },
  month: { name: '30 days', hours: 30 * 24, by: 'day' },
} as const;

interface OverviewView {
  readonly range: keyof typeof ranges;
  /** When the page was made, as ISO text. */
  readonly at: string;
  /** The hours or days of the period, as the counts name them, oldest first. */
  readonly places: readonly string[];
  readonly counts: Counts;
  readonly health: Health;
}

/** Age of numbers that browsers share, in milliseconds. */
const SHARED_MS = 2_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const query = z.object({ range: z.enum(['day', 'week', 'month']).default('day') });

export const overview: readonly ConsoleRoute[] = [
  ({ app, admin, pageFor, now }) => {
    const shared = createSharedReads(SHARED_MS);
    app.get('/', forRole('viewer'), async (request, reply) => {
      const { range } = queryOf(request, query);
      const { hours, by } = ranges[range];
      const stepMs = by === 'hour' ? HOUR_MS : DAY_MS;
      // The current hour or day is the last place.
      const until = Math.ceil((now() + 1) / stepMs) * stepMs;
      const since = until - hours * HOUR_MS;
      const [counts, health] = await Promise.all([
        shared(`counts ${since} ${until}`, () => admin.counts({ since: new Date(since), until: new Date(until), by })),
        shared('health', () => admin.health()),
      ]);
      const places = Array.from({ length: (until - since) / stepMs }, (_, at) =>
        new Date(since + at * stepMs).toISOString(),
      );
      const view = { range, at: new Date(now()).toISOString(), places, counts, health };
      return reply.send(overviewPage(pageFor(request), view));
    });
  },
];

const LIVE_SECONDS = 10;

/** Colours by name, in the order of a chart. */
const kinds = { authorization: 0, payment: 1, confirmation: 2, credential: 4, form: 5 };
const ends = { completed: 0, declined: 1, failed: 3, cancelled: 5, expired: 4 };
const outcomes = { refreshed: 0, postponed: 2, lost: 3 };

const total = (rows: readonly { readonly count: number }[]) => sum(rows.map(({ count }) => count));

/** @internal */
export function overviewPage(page: SignedInPage, view: OverviewView): string {
  const { range, counts, health } = view;
  const periods = Object.entries(ranges).map(([value, { name }]) =>
    value === range
      ? html`<li><a href="${linkTo('/', { range: value })}" aria-current="true">${name}</a></li>`
      : html`<li>${link('/', name, { range: value })}</li>`,
  );
  const { steps, refreshes } = counts;
  const issued = steps.filter(({ step }) => step === 'issued').map(({ kind, ...row }) => ({ ...row, name: kind }));
  const ended = steps.map(({ step, ...row }) => ({ ...row, name: step }));
  const tokens = refreshes.map(({ outcome, ...row }) => ({ ...row, name: outcome }));
  return consolePage(page, {
    at: '/',
    live: { seconds: LIVE_SECONDS, reloads: false },
    main: html`${healthTiles(health)}
<p class="soft">As of ${utcTime(view.at)}</p>
<nav aria-label="Period"><ul class="periods">${periods}</ul></nav>
<div class="charts">
${barChart(chartOf(view, { id: 'issued', title: 'Elicitations issued, by kind', rows: issued, colours: kinds }))}
${barChart(chartOf(view, { id: 'ended', title: 'Elicitations ended, by outcome', rows: ended, colours: ends }))}
${decisionChart(counts)}
${barChart(chartOf(view, { id: 'refreshes', title: 'Token refreshes, by outcome', rows: tokens, colours: outcomes }))}
</div>
${funnels(steps)}
${providerTable(health.providers ?? [], refreshes, view.places.at(-1))}
<h2>Webhooks</h2>
${webhookTable(health.webhooks ?? [])}
${health.storage === undefined ? undefined : storageTable(health.storage)}
<h2>Store</h2>
${storeState(health)}
${keyTables(health)}`,
  });
}

const storeStatusOf = ({ isReachable, refusals }: Health['redis']) =>
  isReachable ? (refusals.length === 0 ? 'connected' : 'refusing') : 'lost';

function healthTiles({ redis, records, webhooks }: Health): Html {
  const ofWebhooks = (word: string, of: (endpoint: WebhookEndpointItem) => number) =>
    webhooks && link('/webhooks', countAs(word, sum(webhooks.map(of))));
  const tiles = [
    ['Waiting now', records && link('/elicitations', records.open, { phase: 'open' })],
    ['Connections', records && link('/connections', records.connections)],
    ['Revocations due', records && countAs('retrying', records.revocations)],
    ['Webhooks retrying', ofWebhooks('retrying', ({ delayed }) => delayed)],
    ['Webhooks dead', ofWebhooks('undelivered', ({ dead }) => dead)],
    ['Webhooks disabled', ofWebhooks('disabled', of => (of.status === 'disabled' ? 1 : 0))],
    ['Store', status(storeStatusOf(redis))],
  ] as const;
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? html`–`}</dd></div>`)}</dl>`;
}

function chartOf(
  { range, places }: OverviewView,
  p: {
    readonly id: string;
    readonly title: string;
    readonly rows: readonly { readonly at: string; readonly name: string; readonly count: number }[];
    /** Of the names that the chart shows, in their order. */
    readonly colours: Readonly<Record<string, number>>;
  },
): ChartView {
  const byName = Map.groupBy(p.rows, ({ name }) => name);
  const series = Object.entries(p.colours).flatMap(([name, colour]) => {
    const rows = Map.groupBy(byName.get(name) ?? [], ({ at }) => at);
    return rows.size === 0 ? [] : [{ name, colour, values: places.map(place => total(rows.get(place) ?? [])) }];
  });
  const isHourly = ranges[range].by === 'hour';
  return {
    id: p.id,
    title: p.title,
    places: isHourly ? 'Hour (UTC)' : 'Day (UTC)',
    labels: places.map(place => (isHourly ? place.slice(11, 16) : place.slice(5, 10))),
    series,
  };
}

/** In seconds. */
const LEAST_LONGEST_S = 1024;

function decisionChart({ decisions }: Counts): Html {
  // Counted by the next power of two. The common ones are always there, so that the bars keep their places.
  const longest = Math.max(LEAST_LONGEST_S, ...decisions.map(({ withinSeconds }) => withinSeconds));
  const limits = Array.from({ length: Math.log2(longest) + 1 }, (_, power) => 2 ** power);
  return barChart({
    id: 'decisions',
    title: 'Time to decision',
    places: 'Within',
    labels: limits.map(seconds =>
      seconds < 120
        ? `${seconds} s`
        : seconds < 7200
          ? `${Math.round(seconds / 60)} min`
          : `${Math.round(seconds / 3600)} h`,
    ),
    series: [
      {
        name: 'decisions',
        colour: 0,
        values: limits.map(limit => total(decisions.filter(({ withinSeconds }) => withinSeconds === limit))),
      },
    ],
  });
}

function storeState({ redis, version }: Health): Html {
  if (!redis.isReachable) return html`<p class="warning">The store does not respond.</p>`;
  return redis.refusals.length === 0
    ? html`<p>The store accepts writes. Release ${version}.</p>`
    : html`<p class="warning">The store refuses writes: ${redis.refusals.join(', ')}</p>`;
}

/** @param now the current hour or day: a provider whose refreshes fail in it is not green */
function providerTable(
  providers: NonNullable<Health['providers']>,
  refreshes: Counts['refreshes'],
  now: string | undefined,
): Html {
  if (providers.length === 0) return html``;
  const byProvider = Map.groupBy(refreshes, ({ provider }) => provider);
  const items = providers.map(({ provider, pausedMs = 0 }) => {
    const rows = byProvider.get(provider) ?? [];
    return { provider, pausedMs, rows, of: (outcome: string) => total(rows.filter(row => row.outcome === outcome)) };
  });
  const isFailing = ({ rows }: (typeof items)[number]) =>
    rows.some(({ at, outcome }) => at === now && outcome === 'postponed');
  return html`<h2>Providers</h2>
<p class="soft">Refreshes in this period, on all replicas. After repeated timeouts a replica pauses its requests for a while; the table shows the replica that made this page.</p>${table(
    {
      caption: 'Providers',
      columns: [
        { name: 'Provider', cell: ({ provider }) => link('/connections', provider, { provider }) },
        {
          name: 'Requests',
          cell: each =>
            each.pausedMs > 0
              ? status('paused', html`${String(Math.ceil(each.pausedMs / 1000))} s`)
              : status(isFailing(each) ? 'failing' : 'sent'),
        },
        { name: 'Refreshed', isNumber: true, cell: ({ of }) => of('refreshed') },
        { name: 'Failed, tried again', isNumber: true, cell: ({ of }) => of('postponed') },
        {
          name: 'Connections lost',
          isNumber: true,
          cell: ({ provider, of }) =>
            of('lost') === 0 ? 0 : link('/connections', of('lost'), { provider, lost: 'yes' }),
        },
        { name: 'Reasons of failures', cell: ({ rows }) => reasonsOf(rows) },
      ],
      items,
      empty: 'No provider is configured.',
    },
  )}`;
}

/** The most frequent ones, such as `outbound_timeout 4, refused 1`. */
function reasonsOf(rows: Counts['refreshes']): string | undefined {
  const byCode = Map.groupBy(rows, ({ code }) => code);
  byCode.delete(undefined);
  const reasons = [...byCode]
    .map(([code, of]) => ({ code, count: total(of) }))
    .sort((a, b) => b.count - a.count)
    .slice(0, 3)
    .map(({ code, count: times }) => `${code} ${times}`);
  return reasons.length === 0 ? undefined : reasons.join(', ');
}

/** The parts of the issued elicitations, in the order of the bar. */
const parts = ['Completed', 'Declined', 'Failed', 'Left after opening', 'Not opened'] as const;
/** Of the parts: the first three as in the chart of outcomes. */
const colours = [0, 1, 3, 2, 5] as const;

/** An elicitation that a connection answers at once is completed without being opened. */
function funnelOf(rows: readonly Step[]) {
  const of = (name: Step['step']) => total(rows.filter(({ step }) => step === name));
  const [issued, completed, declined, failed] = [of('issued'), of('completed'), of('declined'), of('failed')];
  const decided = completed + declined + failed;
  const opened = Math.max(of('opened'), decided);
  /** One per member of `parts`. */
  const values = [completed, declined, failed, opened - decided, Math.max(0, issued - opened)];
  return { issued, opened, values };
}

/** Where people give up: by MCP server and kind, and by provider. */
function funnels(steps: readonly Step[]): Html {
  const withProvider = steps.filter(({ provider }) => provider !== undefined);
  return html`<h2>Where people give up</h2>
<ul class="legend">${parts.map((name, at) => html`<li><span class="${`key s${colours[at]}`}"></span>${name}</li>`)}</ul>
${funnelTable('By MCP server and kind', steps, ({ mcpServerId, kind }) => `${mcpServerId} ${kind}`, [
  {
    name: 'MCP server',
    cell: ({ mcpServerId: mcpServer, kind }) => link('/elicitations', mcpServer, { phase: 'ended', mcpServer, kind }),
  },
  { name: 'Kind', cell: ({ kind }) => kind },
])}
<h3>By provider</h3>
${funnelTable('By provider', withProvider, ({ provider }) => provider, [
  { name: 'Provider', cell: ({ provider }) => link('/elicitations', provider, { phase: 'ended', provider }) },
])}
<p class="soft">An elicitation that is still open counts as not opened, or as left after opening.</p>`;
}

/** @param columns of what the rows of a group have in common */
function funnelTable(
  caption: string,
  steps: readonly Step[],
  keyOf: (step: Step) => string | undefined,
  columns: readonly Column<Step>[],
): Html {
  const items = [...Map.groupBy(steps, keyOf).values()]
    .flatMap(([first, ...rest]) => (first === undefined ? [] : [{ first, ...funnelOf([first, ...rest]) }]))
    .sort((a, b) => b.issued - a.issued);
  type Row = (typeof items)[number];
  return table({
    caption,
    columns: [
      ...columns.map(({ name, cell }) => ({ name, cell: ({ first }: Row) => cell(first) })),
      { name: 'Issued', isNumber: true, cell: ({ issued }) => issued },
      { name: 'Opened', isNumber: true, cell: ({ opened }) => opened },
      ...parts.map((name, at) => ({ name, isNumber: true, cell: ({ values }: Row) => values[at] })),
      { name: 'Of those issued', cell: ({ values }) => partsBar(values, colours) },
    ],
    items,
    empty: 'Nothing was issued in this period.',
  });
}

const MIB = 1024 * 1024;
const mebibytes = (bytes: number) => (bytes / MIB).toLocaleString('en-US', { maximumFractionDigits: 1 });
const percent = (part: number) => `${Math.round(part * 100)} %`;

const ofQuota = (used: string, quota: string): Html => html`${used}${noteAfter(html`of ${quota}`)}`;

function storageTable(storage: NonNullable<Health['storage']>): Html {
  return html`<h2>Storage quotas</h2>
<p class="soft">Each shard has an equal part of a quota, and a person is in one shard. Above 87.5 % of its part, new requests for its people are refused; answers are still stored. Connections, credentials and passkeys that fill half of a part leave no room for new ones.</p>${table(
    {
      caption: 'Storage quotas by MCP server, the fullest shard first',
      columns: [
        {
          name: 'MCP server',
          cell: ({ mcpServerId: mcpServer }) => link('/elicitations', mcpServer, { mcpServer }),
        },
        { name: 'Status', cell: of => status(of.isRefusing ? 'refusing' : 'accepting') },
        {
          name: 'Records',
          isNumber: true,
          cell: of => ofQuota(of.records.toLocaleString('en-US'), of.recordsQuota.toLocaleString('en-US')),
        },
        { name: 'MiB', isNumber: true, cell: of => ofQuota(mebibytes(of.bytes), mebibytes(of.bytesQuota)) },
        {
          name: 'Fullest shard',
          cell: ({ fullestShard, isRefusing }) =>
            html`<span class="share">${partsBar([fullestShard, Math.max(0, 1 - fullestShard)], [isRefusing ? 3 : 0, undefined])} ${percent(fullestShard)}</span>`,
        },
      ],
      items: storage,
      empty: 'No MCP server is configured.',
    },
  )}`;
}

function keyTables({ vaultKeys = [], receiptKeys = [], apiKeys }: Health): Html {
  const kept = [
    ...vaultKeys.map(of => ({ ...of, of: 'vault', use: of.seals ? 'seals and opens' : 'opens' })),
    ...receiptKeys.map(of => ({ ...of, of: 'receipts', use: of.signs ? 'signs and verifies' : 'verifies' })),
  ];
  return html`<h2>Keys</h2>
<p class="soft">Since when this deployment has a key. On or before: it had the key already when it began to note ages.</p>${table(
    {
      caption: 'Keys of the vault and of receipts',
      columns: [
        { name: 'Key', cell: ({ kid }) => code(kid) },
        { name: 'Of', cell: ({ of }) => of },
        { name: 'Use', cell: ({ use }) => use },
        { name: 'In use since (UTC)', cell: ageHtml },
      ],
      items: kept,
      empty: 'Unknown while the store does not respond.',
    },
  )}
<h3>API keys, the oldest first</h3>${table({
    caption: 'API keys of MCP servers, the oldest first',
    columns: [
      { name: 'API key', cell: of => code(of.apiKeyId) },
      { name: 'MCP server', cell: of => of.mcpServerId },
      { name: 'Name', cell: of => of.name },
      { name: 'Since (UTC)', cell: ageHtml },
      { name: 'Last use (UTC)', cell: of => time(of.lastUsedAt) },
      { name: 'Expires (UTC)', cell: of => time(utc(of.expires)) },
    ],
    items: apiKeys?.oldest ?? [],
    empty: 'No valid API key.',
  })}
<p>${link('/api-keys', html`All API keys`)} <span class="soft">(${String(apiKeys?.valid ?? 0)} valid)</span></p>`;
}
