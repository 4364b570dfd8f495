import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { documentsWithOperations, withOperations } from './operation-tables.ts';

test.each(documentsWithOperations)(
  '%s has the operations of the table (node packages/api/src/operation-tables.ts)',
  document => {
    const markdown = readFileSync(new URL(`../../../${document}`, import.meta.url), 'utf8');
    expect(withOperations(document, markdown)).toBe(markdown);
  },
);
