import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inertLine, inertLines } from './inert.ts';

const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;

describe('untrusted text', () => {
  test.each([
    ['a\u001b[2Jb\r\nc\u202ed\u200b\u0007 ', 'ab cd'],
    ['\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007', 'click'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['a\u2028b\u0085c', 'a b c'],
    ['\u{E0041}\u{E0042}hidden', 'hidden'],
    ['\u3164\u115f', ''],
    ['a\ud800b', 'a\ufffdb'],
    [`z${'\u0300'.repeat(40)}`, `z${'\u0300'.repeat(4)}`],
  ])('%j becomes %j', (text, expected) => {
    expect(inertLine(text)).toBe(expected);
  });

  test('loses all characters that move the cursor or hide text, and is truncated', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 1, max: 100 }), (text, max) => {
        const line = inertLine(`\u001b[${text}`, max);
        expect(line).not.toMatch(UNSAFE);
        expect([...line].length).toBeLessThanOrEqual(max);
      }),
    );
  });

  test.each(['\u001b]8;;', '\u001b[0', '\u009d', '\u001b', '\u001b_'])(
    'S231: takes time that grows with the length only: %j many times',
    sequence => {
      expect(inertLine(`${sequence.repeat(100_000)}\u0007end`)).toMatch(/end$/);
    },
  );

  test('keeps its lines, and states how much was truncated', () => {
    expect(inertLines('one\u001b[2J\n\n\u202etwo\r\nthree', { maxLines: 9, maxLength: 9 })).toEqual([
      'one',
      'two',
      'three',
    ]);
    expect(inertLines('1\n2\n\n3\n ', { maxLines: 2, maxLength: 9 })).toEqual(['1', '2', expect.stringContaining('1')]);
  });
});
