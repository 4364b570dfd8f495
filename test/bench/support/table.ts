import { isMet, type Row, ratiosOf } from './row.ts';
import { median } from './statistics.ts';

const HEADINGS = ['figure', 'ours', 'ceiling or baseline', 'ratio', 'target', 'ok?'];

/** Median and, in brackets, the smallest and the largest of the runs. */
function spread(values: readonly number[], show: (value: number) => string): string {
  const middle = show(median(values));
  return values.length === 1 ? middle : `${middle} (${show(Math.min(...values))}–${show(Math.max(...values))})`;
}

const grouped = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toFixed(value >= 10 ? 1 : 2);
const twoPlaces = (value: number) => value.toFixed(2);

function cells(row: Row): string[] {
  const ratios = ratiosOf(row);
  const { target } = row;
  const met = isMet(row);
  return [
    row.figure,
    `${spread(row.ours, grouped)} ${row.unit}`,
    row.baseline === undefined ? '–' : `${spread(row.baseline.values, grouped)} ${row.baseline.name}`,
    ratios === undefined ? '–' : spread(ratios, twoPlaces),
    target === undefined
      ? '–'
      : `${target.bound === 'at least' ? '≥' : '≤'} ${target.value}${ratios ? ' ×' : ` ${row.unit}`}`,
    met === undefined ? '–' : met ? 'yes' : 'NO',
  ];
}

/** As a Markdown table with aligned columns: readable as it is, and it can be pasted into the README. */
export function renderTable(rows: readonly Row[]): string {
  const lines = [HEADINGS, ...rows.map(cells)];
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)));
  const render = (line: readonly string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [headings = [], ...body] = lines;
  return [render(headings), `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`, ...body.map(render)].join(
    '\n',
  );
}
