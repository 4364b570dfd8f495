import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { faultsOfTypes, preludeOf, typescriptBlocks } from './support/typescript-blocks.ts';

/** Timeout of one run, which takes seconds on an idle machine. */
const COMPILER_LIMIT_MS = 600_000;

/** Its second line is a fault. */
const faulty = {
  document: 'README.md',
  line: 1_000_000,
  language: 'ts',
  body: "postern({ url: 'x', apiKey });\npostern({ ulr: 'x' });",
};
let faults: readonly string[];
// All in one program: each loads the types of every package.
beforeAll(async () => {
  faults = await faultsOfTypes([...typescriptBlocks, faulty]);
}, COMPILER_LIMIT_MS);

const isOfFaulty = (fault: string) => /^README\.md:1000001: error TS/.test(fault);

test('every ts and js block of the documents is free of type errors', () => {
  expect(faults.filter(fault => !isOfFaulty(fault))).toEqual([]);
});

test('reports a type error in a block with the line in its document', () => {
  expect(faults.filter(isOfFaulty)).toHaveLength(1);
});

test('every prelude belongs to a document with TypeScript blocks', () => {
  const used = new Set(typescriptBlocks.map(({ document }) => preludeOf(document)));
  expect(readdirSync(join(import.meta.dirname, 'preludes')).filter(name => !used.has(name))).toEqual([]);
});
