import { describe, expect, test } from 'vitest';
import { contrast, formatColour, parseColour, textOn, white } from './colour.ts';

const black = { red: 0, green: 0, blue: 0 };
/** WCAG 2.2, 1.4.3 level AA. */
const readableContrast = 4.5;

test('reads and writes #rrggbb', () => {
  expect(parseColour('#0B655c')).toEqual({ red: 11, green: 101, blue: 92 });
  expect(formatColour(parseColour('#0B655c'))).toBe('#0b655c');
});

test.each([
  '',
  '#fff',
  '0b655c',
  '#0b655c ',
  '#0b655c;}',
  'red',
  'var(--x)',
  '#0b655g',
  '#0b655cff',
  'url(x)',
  '#0b655c\n',
])('refuses %j and names it', text => {
  expect(() => parseColour(text)).toThrow(/#rrggbb/);
});

describe('contrast', () => {
  test('contrast ratios at both ends of the scale', () => {
    expect(contrast(black, white)).toBe(21);
    expect(contrast(white, white)).toBe(1);
  });

  test('a known pair', () => {
    expect(contrast(parseColour('#767676'), white)).toBeCloseTo(4.54, 2);
  });

  test('black or white is readable on every colour', () => {
    for (let value = 0; value < 256 ** 3; value += 4099) {
      const colour = parseColour(`#${value.toString(16).padStart(6, '0')}`);
      expect(contrast(textOn(colour), colour)).toBeGreaterThanOrEqual(readableContrast);
    }
  });
});
