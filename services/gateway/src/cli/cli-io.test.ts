import { expect, test } from 'vitest';
import { printable } from './cli-io.ts';

test('printable escapes control and invisible characters, and loses none of them', () => {
  // A terminal sequence, a right-to-left override, a line separator, and two tag characters outside of the Basic Multilingual Plane.
  const text = 'a\u001b[2J\u202eb\u2028\u{e0041}\u{e0042}\n';
  expect(printable(text)).toBe('a\\u001b[2J\\u202eb\\u2028\\udb40\\udc41\\udb40\\udc42\n');
  expect(JSON.parse(printable(JSON.stringify({ text })))).toEqual({ text });
});
