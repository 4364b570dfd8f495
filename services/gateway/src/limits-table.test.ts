import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withLimits } from './limits-table.ts';

test('docs/limits.md has the limits of the code (node services/gateway/src/write-limits.ts)', () => {
  const markdown = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8');
  expect(withLimits(markdown)).toBe(markdown);
});
