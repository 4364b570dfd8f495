import { expect, test } from 'vitest';
import { packageOf, sourceImports } from './source-imports.ts';

test.each([
  [`import { a } from 'x';`, 'x', false],
  [`import {\n  a,\n  type B,\n} from '@x/y/z';`, '@x/y/z', false],
  [`import a, { b } from './a.ts';`, './a.ts', false],
  [`import * as a from 'x';`, 'x', false],
  [`import type { A } from 'x';`, 'x', true],
  [`import type A from 'x';`, 'x', true],
  [`import type from 'x';`, 'x', false],
  [`export { a } from './a.ts';`, './a.ts', false],
  [`export * from './a.ts';`, './a.ts', false],
  [`export type { A } from './a.ts';`, './a.ts', true],
  [`import 'x';`, 'x', false],
  [`  const { a } = await import('x');`, 'x', false],
  [`const url = import.meta.resolve('x');`, 'x', false],
  [`const path = createRequire(import.meta.url).resolve('x/y.js');`, 'x/y.js', false],
])('%s', (source, specifier, typeOnly) => {
  expect(sourceImports(`const before = 1;\n${source}\nconst after = 2;\n`)).toEqual([{ specifier, typeOnly }]);
});

test.each([
  ` * import { a } from 'x';`,
  `// import('x')`,
  ` * const a = await import('x');`,
  `const text = \`\n  import { a } from 'x';\n\`;`,
  `export const from = 'x';`,
  `const done = Promise.resolve('x');`,
])('is not misled by %s', source => {
  expect(sourceImports(source)).toEqual([]);
});

test.each([
  ['fastify', 'fastify'],
  ['@postern/testkit/providers', '@postern/testkit'],
  ['node:fs', undefined],
  ['./a.ts', undefined],
])('packageOf %s', (specifier, expected) => {
  expect(packageOf(specifier)).toBe(expected);
});
