import { markdownTable } from '../../../test/support/markdown-table.ts';
import { ratiosOf, type StoredRow, verdictOf } from './row.ts';
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

function cells(row: StoredRow, profiles: string | undefined): string[] {
  const ratios = ratiosOf(row);
  const { target } = row;
  return [
    row.figure,
    `${spread(row.ours, grouped)} ${row.unit}`,
    row.baseline === undefined ? '–' : `${spread(row.baseline.values, grouped)} ${row.baseline.name}`,
    ratios === undefined ? '–' : spread(ratios, twoPlaces),
    target === undefined
      ? '–'
      : `${target.bound === 'at least' ? '≥' : '≤'} ${target.value}${ratios ? ' ×' : ` ${row.unit}`}`,
    verdict(row, profiles),
  ];
}

/** `profiles`: path of profiles.md from the document of the table. Without it, the table has no links. */
export function renderTable(rows: readonly StoredRow[], profiles?: string): string {
  return markdownTable(
    HEADINGS,
    rows.map(row => cells(row, profiles)),
  );
}

function verdict(row: StoredRow, profiles: string | undefined): string {
  const { profile } = row.target ?? {};
  switch (verdictOf(row)) {
    case undefined:
      return '–';
    case 'met':
      return 'yes';
    case 'undecided':
      return 'cannot be decided here';
    case 'missed':
      return profile === undefined || profiles === undefined ? 'NO' : `[NO](${profiles}#${profile})`;
  }
}

/** One line for each row whose target is not met: the section of profiles.md that explains it. */
export function renderLimits(rows: readonly StoredRow[], profiles: string): string {
  return rows
    .filter(row => verdictOf(row) === 'missed')
    .map(({ figure, target }) => `${figure.trim()}: ${profiles}#${target?.profile ?? ''}`)
    .join('\n');
}
