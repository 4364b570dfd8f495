/** `node test/conformance/any-server/write-official-example-facts.ts`: writes what the official example fails into README of @postern/conformance. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { officialExampleFacts } from './official-example-facts.ts';

const path = join(import.meta.dirname, '../../../tools/conformance/README.md');
const facts = await officialExampleFacts();
writeFileSync(
  path,
  readFileSync(path, 'utf8').replace(/\| check +\|[\s\S]*?\n(?=\n)/, () => `${facts}\n`),
);
