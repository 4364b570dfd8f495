import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { providerNotes, providerTable } from './provider-table.ts';

const document = readFileSync(new URL('../../../../docs/providers.md', import.meta.url), 'utf8');

test.each([
  ['presets', providerTable()],
  ['notes', providerNotes()],
])('docs/providers.md contains the current %s', (name, content) => {
  expect(document).toContain(`<!-- ${name} -->\n${content}\n<!-- /${name} -->`);
});
