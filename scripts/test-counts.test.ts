import { expect, test } from 'vitest';
import { type CountedModule, countTests, readTestCounts } from './test-counts.ts';

const moduleOf = (isOk: boolean, ...states: string[]): CountedModule => ({
  ok: () => isOk,
  children: { allTests: () => states.map(state => ({ result: () => ({ state }) })) },
});

test('counts passed, failed and skipped tests of all modules', () => {
  const modules = [moduleOf(false, 'passed', 'failed', 'skipped'), moduleOf(true, 'passed', 'pending')];
  expect(countTests(modules)).toEqual({ passed: 2, failed: 1, skipped: 2 });
});

test('counts a file that fails outside of its tests as a failure', () => {
  expect(countTests([moduleOf(false), moduleOf(false, 'passed'), moduleOf(true, 'passed')]).failed).toBe(2);
});

test('counts errors that no test caught as failures', () => {
  expect(countTests([moduleOf(true, 'passed')], 2)).toEqual({ passed: 1, failed: 2, skipped: 0 });
});

test('reads zero counts when vitest wrote none', () => {
  expect(readTestCounts('/nowhere/counts.json')).toEqual({ passed: 0, failed: 0, skipped: 0 });
});
