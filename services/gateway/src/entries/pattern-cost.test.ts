import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { compileCostOf } from './pattern-cost.ts';

const SEED = 20_261_122;

/** Valid and invalid patterns, built from tokens that enlarge programs or could mislead the estimate. */
const pattern = fc
  .array(
    fc.constantFrom(
      ...[
        'a',
        '.',
        '^',
        '$',
        '|',
        '(',
        ')',
        '(?:',
        '(?i)',
        '(?P<n>',
        '?',
        '*',
        '+',
        '*?',
        '{3}',
        '{0,40}',
        '{2,}',
        '{,3}',
        '{',
      ],
      ...[
        '[a-z]',
        '[^]]',
        '[[:alpha:]_]',
        '[\\]]',
        '\\pL',
        '\\p{Greek}',
        '\\x{41}',
        '\\x41',
        '\\Qa{9}\\E',
        '\\d',
        '\\{',
        '}',
        ']',
        'é',
        '👍',
      ],
    ),
    { maxLength: 24 },
  )
  .map(parts => parts.join(''));

function programSizeOf(text: string): number | undefined {
  try {
    return RE2JS.compile(text).programSize();
  } catch {
    return undefined;
  }
}

describe('S66: the cost of compiling a pattern', () => {
  test('the cost of compiling a pattern is at least the number of instructions of its program', () => {
    let programs = 0;
    fc.assert(
      fc.property(pattern, text => {
        const size = programSizeOf(text);
        if (size === undefined) return;
        programs += 1;
        expect(compileCostOf(text)).toBeGreaterThanOrEqual(size);
      }),
      { numRuns: 3_000, seed: SEED },
    );
    expect(programs).toBeGreaterThan(300);
  });

  test.each([
    ['a{0,1000}', 2_007],
    ['(){1000}', 3_008],
    ['((a{1,10}){1,10}){1,10}', 3_195],
    ['\\x{1000}', 5],
    ['\\Qa{1000}\\E', 11],
    ['[a{1000}]', 37],
    ['a{0,40}(?i){3}', 341],
    ['[0-9A-F]{2}', 43],
    ['\\pL{20}', 112],
  ])('the cost of compiling a pattern of %s is %i', (text, cost) => {
    expect(compileCostOf(text)).toBe(cost);
  });
});
