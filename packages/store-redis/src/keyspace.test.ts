import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keyRowOf, withKeyspaceTable } from './keyspace.ts';

test('KEYSPACE.md has the table of all keys', () => {
  const markdown = readFileSync(new URL('../KEYSPACE.md', import.meta.url), 'utf8');
  expect(withKeyspaceTable(markdown)).toBe(markdown);
});

test.each([
  ['postern:{7f}:bs:digest', '`{s}:bs:<digest>`'],
  ['postern:{7f}:open', '`{s}:open`'],
  ['postern:{wh.tracker.main}:deliveries:meta', '`{wh.<server>.<endpoint>}:deliveries:*`'],
  ['postern:{7f}:oops', undefined],
  ['postern:{7f}:open:more', undefined],
  ['postern:oops', undefined],
])('the key %s has the row %s', (key, row) => {
  expect(keyRowOf('postern', key)?.key).toBe(row);
});
