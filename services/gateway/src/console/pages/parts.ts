import { attributes, type Html, html, ownPath, ownText } from '@postern/pages/html';

/** What a page shows of a record. A string is escaped and isolated, a number has its thousands apart. */
export type Shown = Html | string | number;

const htmlOf = (shown: Shown): Html =>
  typeof shown === 'string' ? html`${shown}` : typeof shown === 'number' ? count(shown) : shown;

/** A column of a table, and what it shows of each item: a dash for nothing. */
export interface Column<Item> {
  readonly name: string;
  readonly cell: (item: Item) => Shown | undefined;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
}

/** A table that screen readers announce by its caption, and that scrolls by itself on narrow screens. */
export function table<Item>(p: {
  readonly caption: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  /** Shown instead of the table if it has no rows. */
  readonly empty: string;
}): Html {
  if (p.items.length === 0) return html`<p class="empty">${p.empty}</p>`;
  const classOf = ({ isNumber }: Column<Item>) => attributes({ class: isNumber === true ? 'number' : undefined });
  const head = p.columns.map(column => html`<th scope="col"${classOf(column)}>${column.name}</th>`);
  const rows = p.items.map(
    item => html`<tr>${p.columns.map(column => html`<td${classOf(column)}>${optional(column.cell(item))}</td>`)}</tr>`,
  );
  return html`<div class="table" role="region" aria-label="${p.caption}" tabindex="0"><table><caption class="unseen">${p.caption}</caption><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** A row of a list of facts. */
export type Fact = readonly [name: string, value: Shown | undefined];

/** Facts as a list of names and values. Absent values are left out. */
export function facts(rows: readonly Fact[]): Html {
  const shown = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [html`<div><dt>${name}</dt><dd>${htmlOf(value)}</dd></div>`],
  );
  return html`<dl class="facts">${shown}</dl>`;
}

const tones: Readonly<Record<string, 'good' | 'bad' | 'busy'>> = {
  completed: 'good',
  enabled: 'good',
  connected: 'good',
  valid: 'good',
  done: 'good',
  sent: 'good',
  succeeded: 'good',
  won: 'good',
  accepting: 'good',
  failed: 'bad',
  lost: 'bad',
  disabled: 'bad',
  paused: 'bad',
  refusing: 'bad',
  undelivered: 'bad',
  'failed again': 'bad',
  pending: 'busy',
  retrying: 'busy',
  failing: 'busy',
  active: 'busy',
  verifying: 'busy',
  waiting: 'busy',
  running: 'busy',
  inquiry: 'busy',
  open: 'busy',
};

function toned(word: string, shown: Html): Html {
  const tone = Object.hasOwn(tones, word) ? tones[word] : undefined;
  return html`<span${attributes({ class: `status ${tone ?? 'other'}` })}>${shown}</span>`;
}

/** A status as a word with a coloured dot. @param note what else there is to say */
export const status = (word: string, note?: Html | string): Html =>
  html`${toned(word, html`${word}`)}${noteAfter(note)}`;

/** What stands in pale letters after a value. */
export const noteAfter = (note: Html | string | undefined): Html | undefined =>
  note === undefined ? undefined : html` <span class="soft">${note}</span>`;

/** A number with the colour of a status while it is not zero. */
export const countAs = (word: string, value: number): Html => (value === 0 ? count(value) : toned(word, count(value)));

const utcText = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;

/** A time to the second, where something else says that it is UTC, such as the head of a column. */
export const time = (iso: string | undefined): Html | undefined =>
  iso === undefined ? undefined : html`<time datetime="${iso}">${utcText(iso)}</time>`;

/** A time to the second, with its zone. */
export const utcTime = (iso: string): Html => html`<time datetime="${iso}">${`${utcText(iso)} UTC`}</time>`;

export const optional = (shown: Shown | undefined): Html =>
  shown === undefined ? html`<span class="soft">–</span>` : htmlOf(shown);

/** An identifier, shortened by the stylesheet only. */
export const code = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code class="id" title="${text}">${text}</code>`;

/** An identifier in full. */
export const whole = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code class="whole">${text}</code>`;

export const count = (value: number): Html => html`${value.toLocaleString('en-US')}`;

/** A number of things, such as `<b>1</b> connection`. */
export const counted = (value: number, one: string, many: string): Html =>
  html`<b>${count(value)}</b> ${value === 1 ? one : many}`;

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

type Query = Readonly<Record<string, string | undefined>>;

/** Path of a page with a query. Empty values are left out. */
export function linkTo(path: string, query: Query = {}): ReturnType<typeof ownPath> {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  const search = new URLSearchParams(given).toString();
  return ownPath(search === '' ? path : `${path}?${search}`);
}

/** @param path of a page of the console, without a query */
export const link = (path: string, shown: Shown | undefined, query?: Query): Html =>
  html`<a href="${linkTo(path, query)}">${shown === undefined ? undefined : htmlOf(shown)}</a>`;

/** A link as a button, to the page of an act. */
export const buttonTo = (path: string, text: string, query?: Query): Html =>
  html`<p><a class="button" href="${linkTo(path, query)}">${ownText(text)}</a></p>`;

/** Path of the page of a job. */
export const jobPath = (job: { readonly jobId: string } | undefined): string | undefined => job && `/jobs/${job.jobId}`;
