import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faultsOfTypes, preludeOf, typescriptBlocks } from './support/typescript-blocks.ts';

/** Timeout of one run, which takes seconds on an idle machine. */
const COMPILER_LIMIT_MS = 600_000;

test(
  'every ts and js block of the documents is free of type errors',
  async () => {
    expect(await faultsOfTypes(typescriptBlocks)).toEqual([]);
  },
  COMPILER_LIMIT_MS,
);

test(
  'reports a type error in a block with the line in its document',
  async () => {
    const block = {
      document: 'README.md',
      line: 41,
      language: 'ts',
      body: "postern({ url: 'x', apiKey });\npostern({ ulr: 'x' });",
    };
    expect(await faultsOfTypes([block])).toEqual([expect.stringMatching(/^README\.md:42: error TS/)]);
  },
  COMPILER_LIMIT_MS,
);

test('every prelude belongs to a document with TypeScript blocks', () => {
  const used = new Set(typescriptBlocks.map(({ document }) => preludeOf(document)));
  expect(readdirSync(join(import.meta.dirname, 'preludes')).filter(name => !used.has(name))).toEqual([]);
});
