import { amountHtml } from './amounts.ts';
import type { ArgumentMember, ArgumentView, ConfirmationFactsView, FactView, WholeText } from './approval-views.ts';
import { type ForeignText, foreign } from './foreign-text.ts';
import { type Html, html, joinHtml, ownText } from './html.ts';
import { fact, hostText } from './parts.ts';
import { offsetTimeText } from './times.ts';
import type { Translator } from './translator.ts';

/**
 * Renders a confirmation: the MCP server's sentence and typed facts in a frame that names their author, and what is sent after a yes.
 */
export function confirmationFacts(
  { title, facts, arguments: sent }: ConfirmationFactsView,
  names: { label: Html; mcpServer: ForeignText },
  t: Translator,
): Html {
  const rows = facts.map(one => fact(foreign(one.label, t), factValue(one, t)));
  const list = rows.length === 0 ? undefined : html`<dl class="facts">${rows}</dl>`;
  return html`<section class="statement" aria-labelledby="statement-heading">
<h2 id="statement-heading">${names.label}</h2>
<p class="statement-title" dir="auto">${foreign(title, t)}</p>
${list}
<p class="claim">${t.html('confirmation.stated', { mcpServer: names.mcpServer })}</p>
</section>
${sent && sentSection(sent, t)}`;
}

/** What folds: rows beyond the first ones, values with more rows, and longer texts. */
const foldAbove = { rows: 12, characters: 300 } as const;

/** A rendered value, its rows while it is folded, and the values within it. */
interface Rendered {
  readonly markup: Html;
  readonly rows: number;
  readonly values: number;
}

/** What the section explains below its values. */
interface Notes {
  hasHidden?: true;
  /** A code point that stands for its character. */
  code?: string;
}

function sentSection(members: readonly ArgumentMember[], t: Translator): Html {
  const notes: Notes = {};
  const rendered = members.map(member => memberOf(member, notes, t));
  const folds = rendered.findIndex((_, at) => sum(rendered.slice(0, at + 1), 'rows') > foldAbove.rows);
  const [first, rest] = folds === -1 ? [rendered, []] : [rendered.slice(0, folds), rendered.slice(folds)];
  const { hasHidden, code } = notes;
  return html`<section class="statement sent" aria-labelledby="sent-heading">
<h2 id="sent-heading">${t.html('sent.heading')}</h2>
<div translate="no">${first.length === 0 ? literal('{ }').markup : listOf(first)}</div>
${rest.length === 0 ? undefined : folded(t.html('risk.more', { count: sum(rest, 'values') }), listOf(rest))}
${hasHidden && html`<p class="claim">${t.html('sent.hiddenWhy')}</p>`}
${code === undefined ? undefined : html`<p class="claim">${t.html('sent.unseenWhy', { code: ownText(code) })}</p>`}
</section>`;
}

function memberOf([name, value]: ArgumentMember, notes: Notes, t: Translator): Rendered {
  const rendered = argumentValue(value, notes, t);
  // An empty name would not be seen.
  const shown = name.join('') === '' ? html`<q></q>` : html`<bdi>${wholeText(name, notes)}</bdi>`;
  return { ...rendered, markup: html`<div><dt>${shown}</dt><dd>${rendered.markup}</dd></div>` };
}

function argumentValue(value: ArgumentView, notes: Notes, t: Translator): Rendered {
  switch (value.type) {
    case 'hidden':
      notes.hasHidden = true;
      return { rows: 1, values: 1, markup: html`<span class="hidden-value">${t.html('sent.hidden')}</span>` };
    case 'string': {
      const text = value.text.join('');
      const rows = text.split('\n').length;
      const markup = html`<q dir="auto">${wholeText(value.text, notes)}</q>`;
      return rows > foldAbove.rows || text.length > foldAbove.characters
        ? { rows: 1, values: 1, markup: folded(t.html('sent.characters', { count: [...text].length }), markup) }
        : { rows, values: 1, markup };
    }
    case 'object': {
      const members = value.members.map(member => memberOf(member, notes, t));
      return members.length === 0 ? literal('{ }') : several(members, listOf(members), t);
    }
    case 'array': {
      const elements = value.elements.map(element => argumentValue(element, notes, t));
      const items = elements.map(({ markup }) => html`<li>${markup}</li>`);
      return elements.length === 0 ? literal('[ ]') : several(elements, html`<ol>${items}</ol>`, t);
    }
    default:
      return literal(value.text);
  }
}

const literal = (text: string): Rendered => ({
  rows: 1,
  values: 1,
  markup: html`<code dir="ltr">${ownText(text)}</code>`,
});

const listOf = (members: readonly Rendered[]): Html => html`<dl>${members.map(({ markup }) => markup)}</dl>`;

function several(inner: readonly Rendered[], markup: Html, t: Translator): Rendered {
  const rows = sum(inner, 'rows');
  const values = sum(inner, 'values');
  return rows > foldAbove.rows
    ? { rows: 1, values, markup: folded(t.html('sent.values', { count: values }), markup) }
    : { rows, values, markup };
}

const sum = (all: readonly Rendered[], what: 'rows' | 'values'): number =>
  all.reduce((total, one) => total + one[what], 0);

const folded = (summary: Html, markup: Html): Html =>
  html`<details class="fold"><summary>${summary}</summary><div translate="no">${markup}</div></details>`;

/** Renders a text, with code points in place of invisible characters. Thousands of them may be equal, so each is rendered once. */
function wholeText(text: WholeText, notes: Notes): Html {
  const known = new Map<string, Html>();
  return joinHtml(
    text.map((piece, index) => {
      if (index % 2 === 0) return ownText(piece);
      const codes = known.get(piece) ?? codesOf(piece, notes);
      known.set(piece, codes);
      return codes;
    }),
  );
}

function codesOf(piece: string, notes: Notes): Html {
  const codes = Array.from(piece, character => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `U+${hex.padStart(4, '0')}`;
  });
  notes.code ??= codes[0];
  return html`<span class="unseen-code" dir="ltr">${ownText(codes.join(' '))}</span>`;
}

/** Renders what the accepting button reads if the MCP server named the action: our verb first, so that it never reads "Decline". */
export const actionLabel = ({ action }: ConfirmationFactsView, t: Translator): Html | undefined =>
  action === undefined ? undefined : t.html('confirmation.acceptAction', { action });

function factValue(one: FactView, t: Translator): Html {
  switch (one.type) {
    case 'text':
      return html`<span class="value">${foreign(one.value, t)}</span>`;
    case 'number':
      return html`<span class="value">${ownText(numberText(one.value, t))}</span>`;
    case 'amount':
      return html`<span class="value">${amountHtml(one.value, t)}</span>`;
    case 'time':
      return html`<span class="value">${offsetTimeText(one.value, t)}</span>`;
    case 'host':
      return html`<span class="value">${hostText(one.value)}</span>`;
  }
}

/** Formats a number with all significant digits; very long numbers as powers of ten. */
function numberText(value: number, t: Translator): string {
  if (!Number.isFinite(value)) throw new TypeError('not a number');
  const shortest = String(value);
  const notation = shortest.includes('e') ? 'scientific' : 'standard';
  const format = new Intl.NumberFormat(t.locale, { notation, maximumFractionDigits: 20, signDisplay: 'negative' });
  return format.format(shortest as Intl.StringNumericLiteral);
}
