import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { contrast } from './colour.ts';
import { appMark, namedMark, personMark, providerMark } from './marks.ts';
import { toneCount } from './monograms.ts';
import { textOf } from './testing/page-assertions.ts';

const css = readFileSync(new URL('marks.css', import.meta.url), 'utf8');
const host = 'issues.northwind.example';

test('an app shows letters in a tone of its own', () => {
  const mark = appMark({ name: 'Issue Tracker', host }).toString();
  expect(textOf(mark)).toBe('IT');
  expect(mark).toMatch(/class="mark monogram app tone-\d+ large" aria-hidden="true"/);
  expect(appMark({ name: 'Issue Tracker', host }, 'small').toString()).toBe(mark.replace(' large"', ' small"'));
});

test('an image replaces the letters, with its variant for dark pages', () => {
  const logo = { path: '/images/a.png', darkPath: '/images/b.png' };
  for (const mark of [
    appMark({ name: 'Issue Tracker', host, logo }),
    providerMark({ providerName: 'GitHub', providerMark: { letters: 'GH', colour: '#24292f' }, providerLogo: logo }),
  ]) {
    expect(textOf(mark.toString())).toBe('');
    expect(mark.toString()).toContain(
      '<source srcset="/images/b.png" media="screen and (prefers-color-scheme: dark)">',
    );
    expect(mark.toString()).toContain('src="/images/a.png" alt=""');
  }
  expect(appMark({ name: 'x', host, logo: { path: '/images/a.png' } }).toString()).toContain('plate');
  expect(() => appMark({ name: 'x', host, logo: { path: 'https://evil.example/a.png' } })).toThrow(TypeError);
  expect(() => appMark({ name: 'x', host, logo: { path: '/a.png', darkPath: '//evil.example' } })).toThrow(TypeError);
});

test("a provider's colour carries readable letters", () => {
  const drawn = (colour: string) =>
    providerMark({ providerName: 'x', providerMark: { letters: 'GH', colour } }).toString();
  expect(drawn('#24292f')).toMatch(/fill="#24292f".*fill="#ffffff".*>GH<\/text>/);
  expect(drawn('#ffe01b')).toMatch(/fill="#ffe01b".*fill="#000000"/);
  expect(() => drawn('red"/><script>')).toThrow('#rrggbb');
});

test('hostile names stay text, and a name without letters gets a sign', () => {
  const hostile = '<img src=x onerror=alert(1)>';
  for (const mark of [appMark({ name: hostile, host }), namedMark(hostile), providerMark({ providerName: hostile })])
    expect(textOf(mark.toString())).toBe('IS');
  expect(textOf(personMark({ displayName: '\u202e\u2066' }).toString())).toBe('•');
  expect(textOf(namedMark('…').toString())).toBe('•');
});

/** The tones of the stylesheet as sRGB, by the matrices of CSS Color 4, section 18. */
function toRgb(lightness: number, chroma: number, hue: number) {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (linear: number) => {
    const value = Math.min(1, Math.max(0, linear));
    return 255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
  };
  return {
    red: channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    green: channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    blue: channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  };
}

test('every tone is readable on light and on dark pages', () => {
  const hues = [...css.matchAll(/\.tone-(\d+) \{\n {2}--hue: (\d+);/g)].map(([, , hue]) => Number(hue));
  const values = (name: string) =>
    [...css.matchAll(new RegExp(`--mark-${name}: ([\\d.]+) ([\\d.]+);`, 'g'))].map(
      ([, lightness, chroma]) => [Number(lightness), Number(chroma)] as const,
    );
  const [grounds, inks] = [values('ground'), values('ink')];
  expect([hues.length, grounds.length, inks.length]).toEqual([toneCount, 2, 2]);
  const [, lightness, chroma] = /\.monogram\.provider \{\n {4}background: oklch\(([\d.]+) ([\d.]+) var/.exec(css) ?? [];
  for (const hue of hues) {
    for (const [index, ground] of grounds.entries())
      expect(contrast(toRgb(...ground, hue), toRgb(...(inks[index] ?? [0, 0]), hue))).toBeGreaterThanOrEqual(4.5);
    const filled = toRgb(Number(lightness), Number(chroma), hue);
    expect(contrast(filled, { red: 255, green: 255, blue: 255 })).toBeGreaterThanOrEqual(4.5);
  }
});
