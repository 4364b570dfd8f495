import { describe, expect, it } from 'vitest';
import { displayText } from './display-text.ts';

describe('T28: displayText', () => {
  it.each([
    ['Alice Example', 'Alice Example'],
    ['  Alice \n Example ', 'Alice Example'],
    ['Alice\u202eecilA', 'Alice ecilA'],
    ['a\u0000b\u200bc\u2028d', 'a b c d'],
    ['e\u0301', '\u00e9'],
    [`x${'\u0336'.repeat(600)}`, `x${'\u0336'.repeat(4)}`],
    ['A\u3164\u2800B', 'A B'],
    ['❤\ufe0f', '❤\ufe0f'],
  ])('%j → %j', (text, shown) => {
    expect(displayText(text)).toBe(shown);
  });

  it.each([undefined, null, 7, {}, '', ' ', '\u200b\u202e', '\u3164', '\u2800', '\ufe0f', '\u034f', '\u0301'])(
    '%j → nothing',
    value => {
      expect(displayText(value)).toBeUndefined();
    },
  );

  it('ends after 200 characters', () => {
    expect(displayText('😀'.repeat(1000))).toBe('😀'.repeat(200));
  });
});
