import { attributes, type Html, html, joinHtml, ownPath } from '@postern/pages/html';

export interface Column {
  readonly name: string;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
}

/** A table that screen readers announce by its caption, and that scrolls by itself on narrow screens. */
export function table(p: {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Html[])[];
  /** Shown instead of the table if it has no rows. */
  readonly empty: string;
}): Html {
  if (p.rows.length === 0) return html`<p class="empty">${p.empty}</p>`;
  const cellClass = (at: number) => (p.columns[at]?.isNumber === true ? { class: 'number' } : {});
  const head = p.columns.map(({ name }, at) => html`<th scope="col"${attributes(cellClass(at))}>${name}</th>`);
  const rows = p.rows.map(
    cells => html`<tr>${cells.map((cell, at) => html`<td${attributes(cellClass(at))}>${cell}</td>`)}</tr>`,
  );
  return html`<div class="table" role="region" aria-label="${p.caption}" tabindex="0"><table><caption class="unseen">${p.caption}</caption><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** Facts as a list of names and values. Absent values are left out. */
export function facts(rows: readonly (readonly [name: string, value: Html | undefined])[]): Html {
  const shown = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [html`<div><dt>${name}</dt><dd>${value}</dd></div>`],
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

/** A status as a word with a coloured dot. */
export function status(word: string, shown: Html = html`${word}`): Html {
  const tone = Object.hasOwn(tones, word) ? tones[word] : undefined;
  return html`<span${attributes({ class: `status ${tone ?? 'other'}` })}>${shown}</span>`;
}

/** A number with the colour of a status while it is not zero. */
export const countAs = (word: string, value: number): Html => (value === 0 ? count(value) : status(word, count(value)));

const utcText = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;

/** A time to the second, where something else says that it is UTC, such as the head of a column. */
export const time = (iso: string): Html => html`<time datetime="${iso}">${utcText(iso)}</time>`;

/** A time to the second, with its zone. */
export const utcTime = (iso: string): Html => html`<time datetime="${iso}">${`${utcText(iso)} UTC`}</time>`;

/** Any time, or a dash. */
export const timeOrNone = (at: string | undefined): Html =>
  at === undefined ? optional(undefined) : time(new Date(at).toISOString());

export const optional = (text: string | undefined): Html =>
  text === undefined ? html`<span class="soft">–</span>` : html`${text}`;

/** An identifier in full, shortened by the stylesheet only. */
export const code = (text: string): Html => html`<code class="id" title="${text}">${text}</code>`;

export const count = (value: number): Html => html`${value.toLocaleString('en-US')}`;

export interface Choice {
  readonly value: string;
  readonly text: string;
}

/** A field of a filter. */
export type FilterField =
  | { readonly name: string; readonly label: string; readonly value: string; readonly choices: readonly Choice[] }
  | { readonly name: string; readonly label: string; readonly value: string; readonly type: 'text' | 'date' };

/**
 * A form that repeats the page with its fields in the query, so that the result has a permanent link.
 * @param csrfToken makes it a POST: the page checks typed text before it gets into a URL
 */
export function filters(path: string, fields: readonly FilterField[], csrfToken?: string): Html {
  const controls = fields.map(field => {
    const control =
      'choices' in field
        ? html`<select name="${field.name}">${field.choices.map(
            ({ value, text }) =>
              html`<option value="${value}"${attributes({ selected: value === field.value })}>${text}</option>`,
          )}</select>`
        : html`<input type="${field.type}" name="${field.name}" value="${field.value}">`;
    return html`<label><span>${field.label}</span>${control}</label>`;
  });
  const token =
    csrfToken === undefined ? undefined : html`<input type="hidden" name="csrf_token" value="${csrfToken}">`;
  return html`<form class="filters" method="${csrfToken === undefined ? 'get' : 'post'}" action="${ownPath(path)}" role="search" aria-label="Filters">${token}${controls}<button>Filter</button></form>`;
}

export const anyOf = (what: string, values: readonly string[]): readonly Choice[] => [
  { value: '', text: what },
  ...values.map(value => ({ value, text: value })),
];

/** Path of a page with a query. Empty values are left out. */
export function linkTo(
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): ReturnType<typeof ownPath> {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  const search = new URLSearchParams(given).toString();
  return ownPath(search === '' ? path : `${path}?${search}`);
}

/** Links between the pages of a list. */
export function pager(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  next: string | undefined,
): Html {
  const { cursor, ...first } = query;
  const links = [
    cursor === undefined ? [] : [html`<a href="${linkTo(path, first)}">First page</a>`],
    next === undefined ? [] : [html`<a href="${linkTo(path, { ...query, cursor: next })}">Next page</a>`],
  ].flat();
  return links.length === 0 ? joinHtml([]) : html`<nav class="pager" aria-label="Pages">${links}</nav>`;
}
