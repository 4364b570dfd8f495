/** Nothing that a terminal acts on or that hides in a line, but for the ends of lines: parts of it were written by others. */
export function printable(text: string): string {
  return text.replace(
    /[^\P{C}\n]|[\u2028\u2029]/gu,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
