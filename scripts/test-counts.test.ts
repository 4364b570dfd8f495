import { expect, test } from 'vitest';
import { countTests } from './test-counts.ts';

const totals = { numPassedTests: 3, numFailedTests: 1, numPendingTests: 2, numTodoTests: 1 };

test('takes the totals of the report', () => {
  const testResults = [{ status: 'failed', assertionResults: [{ status: 'passed' }, { status: 'failed' }] }];
  expect(countTests({ ...totals, testResults })).toEqual({ passed: 3, failed: 1, skipped: 3 });
});

test('counts a file that fails outside of its tests as a failure', () => {
  const testResults = [
    { status: 'failed', assertionResults: [] },
    { status: 'failed', assertionResults: [{ status: 'passed' }] },
    { status: 'passed', assertionResults: [{ status: 'passed' }] },
  ];
  expect(countTests({ ...totals, numFailedTests: 0, testResults }).failed).toBe(2);
});

test('refuses a report that it does not understand', () => {
  expect(() => countTests({ tests: 12 })).toThrow();
});
