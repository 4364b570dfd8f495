import { type Html, html } from '@postern/pages/html';
import type { Counts } from '../admin-views.ts';
import { partsBar } from './charts.ts';
import { count, linkTo, table } from './parts.ts';

type Step = Counts['steps'][number];

/** The parts of the issued elicitations, in the order of the bar. */
const parts = ['Completed', 'Declined', 'Failed', 'Left after opening', 'Not opened'] as const;
/** Of the parts: the first three as in the chart of outcomes. */
const colours = [0, 1, 3, 2, 5] as const;

interface Funnel {
  readonly issued: number;
  readonly opened: number;
  /** One per member of `parts`. */
  readonly values: readonly number[];
}

/** An elicitation that a connection answers at once is completed without being opened. */
function funnelOf(rows: readonly Step[]): Funnel {
  const of = (...steps: readonly string[]) =>
    rows.reduce((sum, { step, count }) => sum + (steps.includes(step) ? count : 0), 0);
  const [issued, completed, declined, failed] = [of('issued'), of('completed'), of('declined'), of('failed')];
  const decided = completed + declined + failed;
  const opened = Math.max(of('opened'), decided);
  return {
    issued,
    opened,
    values: [completed, declined, failed, opened - decided, Math.max(0, issued - opened)],
  };
}

/** Where people give up: by MCP server and kind, and by provider. */
export function funnels(steps: readonly Step[]): Html {
  const withProvider = steps.filter(({ provider }) => provider !== undefined);
  return html`<h2>Where people give up</h2>
<ul class="legend">${parts.map((name, at) => html`<li><span class="${`key s${colours[at]}`}"></span>${name}</li>`)}</ul>
${funnelTable({
  caption: 'By MCP server and kind',
  columns: ['MCP server', 'Kind'],
  rows: steps,
  keyOf: ({ mcpServerId, kind }) => [mcpServerId, kind],
  cellsOf: ([mcpServer = '', kind = '']) => [
    html`<a href="${linkTo('/elicitations', { phase: 'ended', mcpServer, kind })}">${mcpServer}</a>`,
    html`${kind}`,
  ],
})}
<h3>By provider</h3>
${funnelTable({
  caption: 'By provider',
  columns: ['Provider'],
  rows: withProvider,
  keyOf: ({ provider = '' }) => [provider],
  cellsOf: ([provider = '']) => [
    html`<a href="${linkTo('/elicitations', { phase: 'ended', provider })}">${provider}</a>`,
  ],
})}
<p class="soft">An elicitation that is still open counts as not opened, or as left after opening.</p>`;
}

function funnelTable(p: {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly Step[];
  readonly keyOf: (row: Step) => readonly string[];
  readonly cellsOf: (key: readonly string[]) => readonly Html[];
}): Html {
  const groups = Map.groupBy(p.rows, row => JSON.stringify(p.keyOf(row)));
  const rows = [...groups.values()]
    .flatMap(rows => (rows[0] === undefined ? [] : [{ key: p.keyOf(rows[0]), ...funnelOf(rows) }]))
    .sort((a, b) => b.issued - a.issued);
  return table({
    caption: p.caption,
    columns: [
      ...p.columns.map(name => ({ name })),
      ...['Issued', 'Opened', ...parts].map(name => ({ name, isNumber: true })),
      { name: 'Of those issued' },
    ],
    rows: rows.map(({ key, issued, opened, values }) => [
      ...p.cellsOf(key),
      ...[issued, opened, ...values].map(count),
      partsBar(values, colours),
    ]),
    empty: 'Nothing was issued in this period.',
  });
}
