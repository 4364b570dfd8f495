import { inertText, withoutEscapes } from '@postern/api';

/** Reduces untrusted text to one line that cannot move the cursor. Truncates it to `max` code points, with an ellipsis. */
export function inertLine(text: string, max = 500): string {
  const line = inertText(withoutEscapes(text.toWellFormed()).replace(/[\s\u0085\u2800]+/gu, ' ')).trim();
  return shorten(line, max);
}

/** {@link inertLine} for several lines. States how much it has truncated. */
export function inertLines(text: string, p: { maxLines: number; maxLength: number }): readonly string[] {
  const lines: string[] = [];
  let more = 0;
  for (const line of text.split(/\r\n|[\n\r\u0085\u2028\u2029]/u)) {
    // Lines that are not shown are counted only: to clean millions takes seconds.
    if (lines.length === p.maxLines) more += /\S/.test(line) ? 1 : 0;
    else {
      const inert = inertLine(line, p.maxLength);
      if (inert !== '') lines.push(inert);
    }
  }
  return more === 0 ? lines : [...lines, `… (${more} more lines)`];
}

function shorten(line: string, max: number): string {
  const characters = [...line];
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}
