import { type Bound, ratiosOf, type StoredRow, type Verdict, verdictOf } from '../support/row.ts';
import { median } from '../support/statistics.ts';
import { logScale, short } from './scale.ts';
import { drawing, element, line, type Svg, text, wrapped } from './svg.ts';

const WIDTH = 960;
const LABELS = 400;
const FIGURES = 180;
const ROW = 44;
const TOP = 92;
const BOTTOM = 16;
const DOT = 6;

type Aimed = StoredRow & { readonly target: Bound };

/** Above one means better than the target, for both kinds of bounds. */
function reached({ target: { bound, value } }: Aimed, sample: number): number {
  return bound === 'at least' ? sample / value : value / sample;
}

/** Draws every row that has a target, relative to it: a dot per run, and a larger one for the median. */
export function plotRows(rows: readonly StoredRow[], caption: string): string {
  const aimed = rows.filter((row): row is Aimed => row.target !== undefined);
  const factors = aimed.map(row => (ratiosOf(row) ?? row.ours).map(sample => reached(row, sample)));
  const height = TOP + aimed.length * ROW + BOTTOM;
  const bottom = height - BOTTOM;
  const scale = logScale([0.5, 2, ...factors.flat()], 2, LABELS, WIDTH - FIGURES);
  const one = scale.at(1);
  const axis = scale.ticks.flatMap(tick => [
    line(scale.at(tick), TOP - 8, scale.at(tick), bottom, 'grid'),
    text(`${short(tick)} ×`, { x: scale.at(tick), y: TOP - 14, class: 'muted small middle' }),
  ]);
  const content = [
    text('How far each figure is from its target', { x: 16, y: 24, class: 'ink title' }),
    text(caption, { x: 16, y: 42, class: 'muted small' }),
    ...axis,
    line(one, TOP - 8, one, bottom, 'target'),
    text('target', { x: one, y: TOP - 28, class: 'muted small middle' }),
    text('better →', { x: WIDTH - FIGURES, y: TOP - 28, class: 'muted small end' }),
    ...aimed.flatMap((row, nth) => drawn(row, factors[nth] ?? [], TOP + nth * ROW + ROW / 2, scale.at)),
  ];
  return drawing(WIDTH, height, `Figures against their targets. ${caption}`, content);
}

function drawn(row: Aimed, factors: readonly number[], y: number, at: (value: number) => number): Svg[] {
  const kind = verdictOf(row) ?? 'missed';
  const lines = wrapped(row.figure, 54).slice(0, 2);
  const places = factors.map(at);
  const [first, last, middle] = [Math.min(...places), Math.max(...places), at(median(factors))];
  return [
    ...lines.map((words, nth) => text(words, { x: 16, y: y + 4 + (nth - (lines.length - 1) / 2) * 16, class: 'ink' })),
    line(first, y, last, y, `range ${kind}`),
    ...places.map(x => element('circle', { cx: x, cy: y, r: 3.5, class: `sample ${kind}` })),
    mark(middle, y, kind),
    text(figures(row), { x: WIDTH - FIGURES + 16, y: y + 4, class: 'ink' }),
  ];
}

/** A missed target differs in shape and colour; one that cannot be decided is hollow. */
function mark(x: number, y: number, kind: Verdict): Svg {
  if (kind === 'met') return element('circle', { cx: x, cy: y, r: DOT, class: kind });
  if (kind === 'undecided') return element('circle', { cx: x, cy: y, r: DOT, class: `${kind} hollow` });
  const corners = [`${x},${y - DOT - 1}`, `${x + DOT + 1},${y}`, `${x},${y + DOT + 1}`, `${x - DOT - 1},${y}`];
  return element('polygon', { points: corners.join(' '), class: `${kind} hollow` });
}

function figures(row: Aimed): string {
  const ratios = ratiosOf(row);
  const unit = ratios === undefined ? row.unit : '×';
  const sign = row.target.bound === 'at least' ? '≥' : '≤';
  return `${short(median(ratios ?? row.ours))} ${unit} (${sign} ${row.target.value})`;
}
