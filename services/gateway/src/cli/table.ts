/** Columns that line up; those of numbers to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map(row => row[at]?.length ?? 0)));
  const isNumeric = head.map((_, at) => rows.length > 0 && rows.every(row => /^\d+$/.test(row[at] ?? '')));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (isNumeric[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}
