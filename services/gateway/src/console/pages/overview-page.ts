import { type Html, html } from '@postern/pages/html';
import type { Counts, Health, WebhookEndpointItem } from '../admin-views.ts';
import type { Role } from '../roles.ts';
import { barChart, type ChartView } from './charts.ts';
import { funnels } from './funnels.ts';
import { keyTables, storageTable } from './keys-and-storage.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { count, countAs, linkTo, optional, status, table, timeOrNone, utcTime } from './parts.ts';

/** Periods of the overview. */
export const ranges = {
  day: { name: '24 hours', hours: 24, by: 'hour' },
  week: { name: '7 days', hours: 7 * 24, by: 'day' },
  month: { name: '30 days', hours: 30 * 24, by: 'day' },
} as const;
export type Range = keyof typeof ranges;

export interface OverviewView {
  readonly range: Range;
  /** When the page was made, as ISO text. */
  readonly at: string;
  /** The hours or days of the period, as the counts name them, oldest first. */
  readonly places: readonly string[];
  readonly counts: Counts;
  readonly health: Health;
}

const LIVE_SECONDS = 10;

/** Colours by name, in the order of a chart. */
const kinds = { authorization: 0, payment: 1, confirmation: 2, credential: 4, form: 5 };
const ends = { completed: 0, declined: 1, failed: 3, cancelled: 5, expired: 4 };
const outcomes = { refreshed: 0, postponed: 2, lost: 3 };

const total = (rows: readonly { readonly count: number }[]) => rows.reduce((sum, row) => sum + row.count, 0);

export function overviewPage(page: SignedInPage, view: OverviewView): string {
  const { range, counts, health } = view;
  const periods = Object.entries(ranges).map(([value, { name }]) =>
    value === range
      ? html`<li><a href="${linkTo('/', { range: value })}" aria-current="true">${name}</a></li>`
      : html`<li><a href="${linkTo('/', { range: value })}">${name}</a></li>`,
  );
  const { steps, refreshes } = counts;
  const issued = steps.filter(({ step }) => step === 'issued').map(({ kind, ...row }) => ({ ...row, name: kind }));
  const ended = steps.map(({ step, ...row }) => ({ ...row, name: step }));
  const tokens = refreshes.map(({ outcome, ...row }) => ({ ...row, name: outcome }));
  return consolePage(page, {
    title: 'Overview',
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
  const toWebhooks = (word: string, of: (endpoint: WebhookEndpointItem) => number) =>
    webhooks === undefined
      ? html`–`
      : html`<a href="${linkTo('/webhooks')}">${countAs(
          word,
          webhooks.reduce((sum, each) => sum + of(each), 0),
        )}</a>`;
  const tiles: [string, Html][] = [
    [
      'Waiting now',
      records === undefined
        ? html`–`
        : html`<a href="${linkTo('/elicitations', { phase: 'open' })}">${count(records.open)}</a>`,
    ],
    [
      'Connections',
      records === undefined ? html`–` : html`<a href="${linkTo('/connections')}">${count(records.connections)}</a>`,
    ],
    ['Revocations due', records === undefined ? html`–` : countAs('retrying', records.revocations)],
    ['Webhooks retrying', toWebhooks('retrying', ({ delayed }) => delayed)],
    ['Webhooks dead', toWebhooks('undelivered', ({ dead }) => dead)],
    ['Webhooks disabled', toWebhooks('disabled', of => (of.status === 'disabled' ? 1 : 0))],
    ['Store', status(storeStatusOf(redis))],
  ];
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
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

/** The worst of what is wrong with an endpoint. Enabled alone says nothing about its deliveries. */
export function endpointStatus({ status: word, dead, delayed, failingSince }: WebhookEndpointItem): string {
  if (word === 'disabled') return word;
  if (dead > 0) return 'undelivered';
  return delayed > 0 || failingSince !== undefined ? 'retrying' : word;
}

/** @param role of the operator who may redeliver; absent where the table has no acts */
export function webhookTable(webhooks: readonly WebhookEndpointItem[], role?: Role): Html {
  const isOperator = role === 'operator';
  return table({
    caption: 'Webhook endpoints',
    columns: [
      { name: 'Endpoint' },
      { name: 'Host' },
      { name: 'Status' },
      { name: 'Waiting', isNumber: true },
      { name: 'Retrying', isNumber: true },
      { name: 'Dead', isNumber: true },
      { name: 'Failing since (UTC)' },
      ...(isOperator ? [{ name: 'Act' }] : []),
    ],
    rows: webhooks.map(of => [
      html`<a href="${linkTo('/webhooks', { endpoint: of.endpoint })}">${of.endpoint}</a>`,
      html`${of.host}`,
      html`${status(endpointStatus(of))}${of.reason === undefined ? undefined : html` <span class="soft">${of.reason}</span>`}`,
      count(of.waiting + of.underWay),
      countAs('retrying', of.delayed),
      countAs('undelivered', of.dead),
      timeOrNone(of.failingSince),
      ...(isOperator ? [endpointActs(of)] : []),
    ]),
    empty: 'No webhook endpoints are configured.',
  });
}

const hrefOf = ({ endpoint }: WebhookEndpointItem, act: string) =>
  linkTo(`/webhooks/${encodeURIComponent(endpoint)}/${act}`);

/** What an operator can do about an endpoint now. */
export function endpointActs(of: WebhookEndpointItem): Html {
  const acts = [
    ...(of.status === 'disabled' ? [html`<a href="${hrefOf(of, 'enable')}">Enable</a>`] : []),
    ...(of.dead + of.delayed > 0 ? [html`<a href="${hrefOf(of, 'redeliver')}">Redeliver</a>`] : []),
  ];
  return acts.length === 0 ? optional(undefined) : html`<span class="pairs">${acts}</span>`;
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
  return html`<h2>Providers</h2>
<p class="soft">Refreshes in this period, on all replicas. After repeated timeouts a replica pauses its requests for a while; the table shows the replica that made this page.</p>${table(
    {
      caption: 'Providers',
      columns: [
        { name: 'Provider' },
        { name: 'Requests' },
        { name: 'Refreshed', isNumber: true },
        { name: 'Failed, tried again', isNumber: true },
        { name: 'Connections lost', isNumber: true },
        { name: 'Reasons of failures' },
      ],
      rows: providers.map(({ provider, pausedMs = 0 }) => {
        const rows = byProvider.get(provider) ?? [];
        const of = (outcome: string) => total(rows.filter(row => row.outcome === outcome));
        const lost = of('lost');
        return [
          html`<a href="${linkTo('/connections', { provider })}">${provider}</a>`,
          pausedMs > 0
            ? html`${status('paused')} <span class="soft">${String(Math.ceil(pausedMs / 1000))} s</span>`
            : status(rows.some(({ at, outcome }) => at === now && outcome === 'postponed') ? 'failing' : 'sent'),
          count(of('refreshed')),
          count(of('postponed')),
          lost === 0
            ? count(lost)
            : html`<a href="${linkTo('/connections', { provider, lost: 'yes' })}">${count(lost)}</a>`,
          optional(reasonsOf(rows)),
        ];
      }),
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
