import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { contrast, parseColour } from './colour.ts';
import { accentColours, accentFault, pageColours } from './palette.ts';
import { stylesheet } from './stylesheet.ts';

const cardColours = { light: '#ffffff', dark: '#191e1d' };
/** WCAG 2.2, 1.4.3 level AA. */
const readableContrast = 4.5;
/** WCAG 2.2, 1.4.11 level AA. */
const visibleContrast = 3;

const source = ['postern.css', 'approvals.css']
  .map(file => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('\n');
const branding = { name: 'Northwind' };
const schemes = ['light', 'dark'] as const;

const valuesOf = (property: string) =>
  [...source.matchAll(new RegExp(`--${property}: (#[0-9a-f]{6});`, 'g'))].map(match => match[1]);

test('contrasts are computed with the real backgrounds of the stylesheet', () => {
  expect(valuesOf('card')).toEqual([cardColours.light, cardColours.dark]);
  expect(valuesOf('ground')).toEqual([pageColours.light, pageColours.dark]);
});

describe.each([
  [0, 'light'],
  [1, 'dark'],
] as const)('fixed colours, scheme %i', (index, _scheme) => {
  test.each([
    ['ink', 'card'],
    ['ink', 'tint'],
    ['ink', 'ground'],
    ['soft', 'card'],
    ['soft', 'tint'],
    ['soft', 'ground'],
    ['card', 'strong'],
    ['caution', 'caution-tint'],
    ['danger', 'danger-tint'],
    ['good', 'card'],
    ['good', 'good-tint'],
  ])('%s is readable on %s', (text, ground) => {
    const colours = [text, ground].map(property => parseColour(valuesOf(property)[index] ?? ''));
    const [a, b] = colours;
    if (a === undefined || b === undefined) throw new Error('two colours expected');
    expect(contrast(a, b)).toBeGreaterThanOrEqual(readableContrast);
  });
});

describe('any accent that is not red is readable', () => {
  const channels = ['00', '33', '66', '99', 'cc', 'ff'];
  const accents = channels.flatMap(r => channels.flatMap(g => channels.map(b => `#${r}${g}${b}`)));

  test.each(schemes)('%s', scheme => {
    let checked = 0;
    for (const accent of accents) {
      const settings = [
        { ...branding, accent },
        { ...branding, accent, accentDark: accent },
      ];
      for (const setting of settings) {
        if (accentFault(setting) !== undefined) continue;
        checked += 1;
        const colours = accentColours(setting, scheme);
        const colour = (name: string) => parseColour(colours[name] ?? '');
        expect(contrast(colour('on-accent'), colour('accent'))).toBeGreaterThanOrEqual(readableContrast);
        expect(contrast(colour('accent-text'), parseColour(cardColours[scheme]))).toBeGreaterThanOrEqual(
          readableContrast,
        );
        expect(contrast(colour('accent-text'), parseColour(pageColours[scheme]))).toBeGreaterThanOrEqual(
          readableContrast,
        );
        // The plain button has the colour of the card.
        expect(contrast(colour('accent'), parseColour(cardColours[scheme]))).toBeGreaterThanOrEqual(visibleContrast);
      }
    }
    expect(checked).toBeGreaterThan(350);
  });
});

describe('danger has a colour of its own', () => {
  test.each(['#a11d1d', '#d32f2f', '#ff0000', '#7a1c14', '#f5a097', '#ff8a80'])('%s is refused', colour => {
    expect(() => stylesheet({ ...branding, accent: colour })).toThrow(/branding\.accent: .*#a11d1d/);
    expect(() => stylesheet({ ...branding, accentDark: colour })).toThrow(/branding\.accentDark: .*#f5a097/);
  });

  test.each(['#0b655c', '#1d4ed8', '#ef6c00', '#c2185b', '#7b1fa2', '#5d5552', '#000000', '#ffffff'])(
    '%s is accepted',
    colour => {
      expect(accentFault({ accent: colour, accentDark: colour })).toBeUndefined();
    },
  );

  test.each([0, 1])('its button is as visible as the accepting one, scheme %i', index => {
    const [danger, card, onDanger] = ['danger', 'card', 'on-danger'].map(name =>
      parseColour(valuesOf(name)[index] ?? ''),
    );
    if (danger === undefined || card === undefined || onDanger === undefined) throw new Error('three colours expected');
    expect(contrast(danger, card)).toBeGreaterThanOrEqual(visibleContrast);
    expect(contrast(onDanger, danger)).toBeGreaterThanOrEqual(readableContrast);
    expect(valuesOf('danger')).toEqual(['#a11d1d', '#f5a097']);
  });
});

test('the path changes with the content', () => {
  const first = stylesheet(branding);
  expect(first.path).toMatch(/^\/assets\/postern-[A-Za-z0-9_-]{16}\.css$/);
  expect(stylesheet({ name: 'Another name' })).toEqual(first);
  expect(stylesheet({ ...branding, accent: '#1d4ed8' }).path).not.toBe(first.path);
});

test('an invalid colour is refused with the name of its setting', () => {
  expect(() => stylesheet({ ...branding, accent: 'red}body{display:none' })).toThrow(/branding\.accent:.*#rrggbb/);
  expect(() => stylesheet({ ...branding, accentDark: '#12' })).toThrow(/branding\.accentDark:.*#rrggbb/);
});

test('the stylesheet loads nothing and uses logical directions only', () => {
  const { body } = stylesheet(branding);
  expect(body).not.toMatch(/url\(|@import|@font-face|expression\(/);
  expect(source).not.toMatch(/(?:margin|padding|border)-(?:left|right|top|bottom)\b|text-align: (?:left|right)|float:/);
});

test('corners scale with the branding, and circles stay', () => {
  const radii = (corners: 'square' | 'soft' | 'round') =>
    [...stylesheet({ ...branding, corners }).body.matchAll(/border-radius:([^;}]+)/g)].map(match => match[1] ?? '');
  const soft = radii('soft');
  expect(soft).toContain('50%');
  expect(radii('square').every(radius => /^(?:0rem|0|\d{2}%| )+$/.test(radius))).toBe(true);
  expect(radii('round').indexOf('50%')).toBe(soft.indexOf('50%'));
  expect(radii('round')).toContain('1.6rem');
});

test('font families precede the fonts of the system, and only names are accepted', () => {
  expect(stylesheet({ ...branding, fonts: ['Inter', 'Segoe UI'] }).body).toContain(
    'html{font-family:"Inter","Segoe UI",system-ui,sans-serif}',
  );
  for (const font of ['a"}*{display:none', 'a;b', 'url(x)', 'a\\', '"', ' a', 'a</style>'])
    expect(() => stylesheet({ ...branding, fonts: [font] })).toThrow(/branding\.fonts/);
});
