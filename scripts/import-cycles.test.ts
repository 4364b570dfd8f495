import { expect, test } from 'vitest';
import { findCycles } from './import-cycles.ts';

const graph = (edges: Record<string, readonly string[]>) => new Map(Object.entries(edges));

test('a diamond is no cycle', () => {
  expect(findCycles(graph({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }))).toEqual([]);
});

test('names the path of a cycle', () => {
  expect(findCycles(graph({ a: ['b'], b: ['c'], c: ['b'] }))).toEqual(['b → c → b']);
});

test('a file that imports itself is a cycle', () => {
  expect(findCycles(graph({ a: ['a'] }))).toEqual(['a → a']);
});
