import { readFileSync, writeFileSync } from 'node:fs';
import { adminOperations } from './admin/admin-operations.ts';
import type { Operation } from './operation.ts';
import { operations } from './operations.ts';

const tables: Readonly<Record<string, readonly string[]>> = {
  'packages/api/README.md': [
    '| call | what it does |',
    '|---|---|',
    ...Object.values(operations).map(of => `| \`${callOf(of)}\` | ${of.summary} |`),
  ],
  'docs/admin-api.md': [
    '| call | scope | what it does |',
    '|---|---|---|',
    ...Object.values(adminOperations).map(of => `| \`${callOf(of)}\` | \`${of.scope}\` | ${of.summary} |`),
  ],
};

function callOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** The documents with a table of operations, by their paths. */
export const documentsWithOperations: readonly string[] = Object.keys(tables);

/** Replaces the table in the text of a document (`node packages/api/src/operation-tables.ts`). */
export function withOperations(document: string, markdown: string): string {
  const [before, rest] = markdown.split('<!-- operations -->\n');
  const after = rest?.split('<!-- /operations -->')[1];
  const rows = tables[document];
  if (before === undefined || after === undefined || rows === undefined)
    throw new Error(`${document} has no markers for its operations`);
  return `${before}<!-- operations -->\n${rows.join('\n')}\n<!-- /operations -->${after}`;
}

// Writes the tables of operations in the documents.
if (import.meta.main)
  for (const document of documentsWithOperations) {
    const file = new URL(`../../../${document}`, import.meta.url);
    writeFileSync(file, withOperations(document, readFileSync(file, 'utf8')));
  }
