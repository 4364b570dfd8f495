import { expect, test } from 'vitest';
import { testRunOf } from './test-arguments.ts';

test.each([[[]], [['-t', 'S22']], [['--reporter=json', '--outputFile.json=report.json']]])(
  'runs the short form for %j',
  args => {
    expect(testRunOf(args).size).toBe('short');
  },
);

test.each([[['--all']], [['packages/vault']], [['--all', '-t', 'S22']], [['-t', 'S22', 'packages/vault']]])(
  'runs every test for %j',
  args => {
    expect(testRunOf(args).size).toBe('full');
  },
);

test('passes everything but --all to vitest', () => {
  expect(testRunOf(['--all', '-t', 'S22']).vitestArguments).toEqual(['--reporter=default', '-t', 'S22']);
});

test('adds no reporter if the caller chose one', () => {
  const args = ['--reporter=json', '--outputFile.json=report.json'];
  expect(testRunOf(args).vitestArguments).toEqual(args);
});
