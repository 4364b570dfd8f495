import { type Html, html } from '@postern/pages/html';
import type { Counts, Health, WebhookEndpointItem } from '../admin-views.ts';
import type { Role } from '../roles.ts';
import { barChart, type ChartView } from './charts.ts';
import { funnels } from './funnels.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { code, count, linkTo, optional, status, table } from './parts.ts';

/** Periods of the overview. */
export const ranges = {
  day: { name: '24 hours', hours: 24, by: 'hour' },
  week: { name: '7 days', hours: 7 * 24, by: 'day' },
  month: { name: '30 days', hours: 30 * 24, by: 'day' },
} as const;
export type Range = keyof typeof ranges;

export interface OverviewView {
  readonly range: Range;
  /** The hours or days of the period, as the counts name them, oldest first. */
  readonly places: readonly string[];
  readonly counts: Counts;
  readonly health: Health;
}

type Step = Counts['steps'][number];

const ended = ['completed', 'declined', 'failed', 'cancelled', 'expired'] as const;

const total = (rows: readonly { readonly count: number }[]) => rows.reduce((sum, row) => sum + row.count, 0);

export function overviewPage(page: SignedInPage, view: OverviewView): string {
  const { range, counts, health } = view;
  const periods = Object.entries(ranges).map(([value, { name }]) =>
    value === range
      ? html`<li><a href="${linkTo('/', { range: value })}" aria-current="true">${name}</a></li>`
      : html`<li><a href="${linkTo('/', { range: value })}">${name}</a></li>`,
  );
  const issued = counts.steps.filter(({ step }) => step === 'issued');
  const ends = counts.steps.filter(({ step }) => ended.some(name => name === step));
  return consolePage(page, {
    title: 'Overview',
    at: '/',
    main: html`${healthTiles(health)}
<nav aria-label="Period"><ul class="periods">${periods}</ul></nav>
<div class="charts">
${barChart(chartOf(view, { id: 'issued', title: 'Elicitations issued, by kind', rows: issued, seriesOf: ({ kind }) => kind }))}
${barChart(chartOf(view, { id: 'ended', title: 'Elicitations ended, by outcome', rows: ends, seriesOf: ({ step }) => step, order: ended }))}
${decisionChart(counts)}
</div>
${funnels(counts.steps)}
${providerTable(health.providers ?? [])}
<h2>Webhooks</h2>
${webhookTable(health.webhooks ?? [])}
<h2>Redis and keys</h2>
${keyTable(health)}`,
  });
}

function healthTiles({ redis, records, webhooks = [] }: Health): Html {
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
    ['Revocations due', records === undefined ? html`–` : count(records.revocations)],
    [
      'Dead deliveries',
      html`<a href="${linkTo('/webhooks')}">${count(webhooks.reduce((sum, { dead }) => sum + dead, 0))}</a>`,
    ],
    ['Redis', status(redis.isReachable ? 'connected' : 'lost')],
  ];
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function chartOf(
  { range, places }: OverviewView,
  p: {
    readonly id: string;
    readonly title: string;
    readonly rows: readonly Step[];
    readonly seriesOf: (row: Step) => string;
    readonly order?: readonly string[];
  },
): ChartView {
  const names = [...new Set(p.rows.map(p.seriesOf))].sort();
  const at = new Map(places.map((place, index) => [place, index]));
  const series = (p.order?.filter(name => names.includes(name)) ?? names).map(name => {
    const values = places.map(() => 0);
    for (const row of p.rows) {
      const index = at.get(row.at);
      if (p.seriesOf(row) === name && index !== undefined) values[index] = (values[index] ?? 0) + row.count;
    }
    return { name, values };
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
        values: limits.map(limit => total(decisions.filter(({ withinSeconds }) => withinSeconds === limit))),
      },
    ],
  });
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
      { name: 'Dead', isNumber: true },
      { name: 'Failing since (UTC)' },
      ...(isOperator ? [{ name: 'Act' }] : []),
    ],
    rows: webhooks.map(({ endpoint, host, status: word, reason, waiting, dead, failingSince }) => [
      html`<a href="${linkTo('/webhooks', { endpoint })}">${endpoint}</a>`,
      html`${host}`,
      html`${status(word)}${reason === undefined ? undefined : html` <span class="soft">${reason}</span>`}`,
      count(waiting),
      count(dead),
      optional(failingSince?.replace('T', ' ').slice(0, 19)),
      ...(isOperator
        ? [
            dead === 0
              ? optional(undefined)
              : html`<a href="${linkTo(`/webhooks/${endpoint}/redeliver`)}">Redeliver</a>`,
          ]
        : []),
    ]),
    empty: 'No webhook endpoints are configured.',
  });
}

function keyTable({ redis, vaultKeys = [], version }: Health): Html {
  const refusals =
    redis.refusals.length === 0
      ? html`<p>Redis accepts writes. Release ${version}.</p>`
      : html`<p class="warning">Redis refuses writes: ${redis.refusals.join(', ')}</p>`;
  return html`${redis.isReachable ? refusals : html`<p class="warning">Redis does not respond.</p>`}${table({
    caption: 'Vault keys',
    columns: [{ name: 'Vault key' }, { name: 'Use' }],
    rows: vaultKeys.map(({ kid, seals }) => [code(kid), html`${seals ? 'seals and opens' : 'opens'}`]),
    empty: 'Unknown while Redis does not respond.',
  })}`;
}

function providerTable(providers: NonNullable<Health['providers']>): Html {
  if (providers.length === 0) return html``;
  return html`<h2>Provider health</h2>
<p class="soft">As the replica that made this page sees them, since its start.</p>${table({
    caption: 'Provider health',
    columns: [
      { name: 'Provider' },
      { name: 'Requests' },
      { name: 'Refreshed', isNumber: true },
      { name: 'Failed, tried again', isNumber: true },
      { name: 'Connections lost', isNumber: true },
      { name: 'Last failure' },
    ],
    rows: providers.map(({ provider, pausedMs, refreshed, postponed, lost, failing }) => [
      html`<a href="${linkTo('/connections', { provider })}">${provider}</a>`,
      pausedMs > 0
        ? html`${status('paused')} <span class="soft">${String(Math.ceil(pausedMs / 1000))} s</span>`
        : status('sent'),
      count(refreshed),
      count(postponed),
      lost === 0
        ? count(lost)
        : html`<a href="${linkTo('/connections', { provider, lost: 'yes' })}">${count(lost)}</a>`,
      optional(failing),
    ]),
    empty: 'No provider is configured.',
  })}`;
}
