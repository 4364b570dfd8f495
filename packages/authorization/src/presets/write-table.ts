/** Writes the table and the notes of the presets into docs/providers.md, between its markers. Run with `node`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { providerNotes, providerTable } from './provider-table.ts';

const document = new URL('../../../../docs/providers.md', import.meta.url);
let text = readFileSync(document, 'utf8');
for (const [name, content] of Object.entries({ presets: providerTable(), notes: providerNotes() })) {
  const [before, rest] = text.split(`<!-- ${name} -->\n`);
  const after = rest?.split(`<!-- /${name} -->`)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/providers.md has no markers for ${name}`);
  text = `${before}<!-- ${name} -->\n${content}\n<!-- /${name} -->${after}`;
}
writeFileSync(document, text);
