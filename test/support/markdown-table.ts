/** Returns a Markdown table with aligned columns: readable in a terminal, and ready to paste into a document. */
export function markdownTable(headings: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...body.map(line => line[column]?.length ?? 0)),
  );
  const render = (line: readonly string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [render(headings), `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`, ...body.map(render)].join(
    '\n',
  );
}
