import { readFileSync, writeFileSync } from 'node:fs';
import { documentsWithOperations, withOperations } from './operation-tables.ts';

// Writes the tables of operations in the documents: node packages/api/src/write-operation-tables.ts
for (const document of documentsWithOperations) {
  const file = new URL(`../../../${document}`, import.meta.url);
  writeFileSync(file, withOperations(document, readFileSync(file, 'utf8')));
}
