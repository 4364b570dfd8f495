import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../../scripts/child.ts';
import { faults } from './faults.ts';
import { withFault } from './run-faults.ts';
import { outcomeOf } from './run-tests.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
/** Suites that several test files run. `suite` puts the name of the store, and a colon, before the title. */
const suites = globSync('packages/testkit/src/contract/*.ts', { cwd: root })
  .map(path => read(path).replaceAll(/uite\('/g, ': '))
  .join('\n');

describe('the list of faults', () => {
  test('has at least 80 faults, each with a unique name', () => {
    expect(faults.length).toBeGreaterThanOrEqual(80);
    const names = faults.map(({ name }) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test.each(faults.map(fault => [fault.name, fault] as const))('is not stale: %s', (_, fault) => {
    expect(existsSync(join(root, fault.file))).toBe(true);
    expect(withFault(read(fault.file), fault)).not.toBe(read(fault.file));
    expect(fault.foundBy.length).toBeGreaterThan(0);
    expect(fault.foundBy.filter(path => !existsSync(join(root, path)) || !path.endsWith('.test.ts'))).toEqual([]);
    if (fault.only !== undefined) {
      // Of a name that a suite makes from the store's ("Redis: transition"), the part after the colon.
      const title = fault.only.replace(/^(?:Redis|SQLite in memory): /, ': ');
      expect(`${fault.foundBy.map(read).join('\n')}\n${suites}`).toContain(title);
    }
  });

  test('refuses a fault whose original text is missing or occurs twice', () => {
    const fault = { name: 'x', breaks: 'x', file: 'x.ts', original: 'b', replacement: 'c', foundBy: [] };
    expect(withFault('abd', fault)).toBe('acd');
    for (const text of ['ad', 'abbd', '']) expect(() => withFault(text, fault)).toThrow(TypeError);
  });

  test('finds the original text in other lines, and only once', () => {
    const fault = { name: 'x', breaks: 'x', file: 'x.ts', original: 'f({ a, b })', replacement: 'g()', foundBy: [] };
    const broken = 'f({\n  a,\n  b,\n})';
    expect(withFault(`x = ${broken};`, fault)).toBe('x = g();');
    expect(() => withFault(`${broken};\n${broken};`, fault)).toThrow(TypeError);
    expect(() => withFault('f({ a, c });', fault)).toThrow(TypeError);
  });
});

describe('a fault is found by a failed assertion', () => {
  const report = (...failures: readonly string[]) => ({
    numPassedTests: 1,
    testResults: [
      {
        status: failures.length > 0 ? 'failed' : 'passed',
        message: '',
        assertionResults: [
          { fullName: 'passes', status: 'passed', failureMessages: [] },
          ...failures.map(message => ({ fullName: 'fails', status: 'failed', failureMessages: [message] })),
        ],
      },
    ],
  });

  test.each([
    'AssertionError: expected 1 to be 2',
    'Error: promise resolved "1" instead of rejecting',
    'Error: Property failed after 1 tests',
  ])('%s', message => {
    expect(outcomeOf(report(message))).toMatchObject({ result: 'failed', message });
    expect(outcomeOf(report('Error: Test timed out in 5000ms.', message))).toMatchObject({ result: 'failed', message });
  });

  test.each([
    ['a timeout', report('Error: Test timed out in 5000ms.')],
    ['an error in the code', report('TypeError: x is not a function')],
    [
      'a file that cannot be loaded',
      { numPassedTests: 0, testResults: [{ status: 'failed', message: 'SyntaxError', assertionResults: [] }] },
    ],
    ['no test', { numPassedTests: 0, testResults: [] }],
  ])('and not by %s', (_, json) => {
    expect(outcomeOf(json)).toMatchObject({ result: 'broken' });
  });

  test('a run without failures passed', () => {
    expect(outcomeOf(report())).toEqual({ result: 'passed' });
  });
});
