import { markdownTable } from '../../support/markdown-table.ts';
import { isMet, type Row, ratiosOf } from './row.ts';
import { median } from './statistics.ts';

const HEADINGS = ['figure', 'ours', 'ceiling or baseline', 'ratio', 'target', 'ok?'];

/** Median with minimum and maximum of the runs in brackets. */
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

export function renderTable(rows: readonly Row[]): string {
  return markdownTable(HEADINGS, rows.map(cells));
}
