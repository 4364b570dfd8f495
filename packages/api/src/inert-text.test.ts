import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inertText, isInert } from './inert-text.ts';
import { plainName, plainText } from './plain-text.ts';

const realNames = readFileSync(new URL('testing/real-names.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => line.includes('\t'))
  .map(line => line.split('\t').slice(0, 2) as [string, string]);

describe('S74: text that would be displayed differently or not at all', () => {
  it.each([
    ['a Hangul filler', '\u3164'],
    ['a half-width Hangul filler', '\uFFA0'],
    ['a blank Braille pattern', '\u2800'],
    ['a grapheme joiner', '\u034F'],
    ['a variation selector', '\uFE0F'],
    ['a hidden variation selector supplement', 'Acme\u{E0158}'],
    ['a blank between letters', 'Ac\u2800me'],
    ['600 stacked marks', `A${'\u0301'.repeat(600)}`],
    ['five stacked marks', 'x\u0301\u0302\u0303\u0304\u0305'],
    ['marks stacked after spacing marks', `क${'\u0902\u0903'.repeat(5)}`],
    ['seven spacing marks', `क${'\u0903'.repeat(7)}`],
    ['a struck-through word', [...'free'].map(letter => `${letter}\u0336`).join('')],
    ['an encircled letter', 'A\u20DD'],
    ['a mark at the beginning', '\u0301Acme'],
    ['a mark after a space', 'Acme \u0301'],
    ['a joiner between Latin letters', 'a\u200Db'],
    ['a non-joiner between Latin letters', 'a\u200Cb'],
    ['a non-joiner after an Arabic letter that never joins', 'کار\u200Cها'],
    ['a non-joiner at the end of a Persian word', 'می\u200C'],
    ['a joiner after a Devanagari letter without virama', 'क\u200Dष'],
    ['two joiners after a virama', 'क्\u200D\u200Dष'],
    ['a variation selector after a digit', '1\uFE0F'],
    ['a keycap on a letter', 'a\u20E3'],
  ])('refuses %s', (_, text) => {
    expect(isInert(text)).toBe(false);
    expect(plainText(2000).safeParse(text).success).toBe(false);
    expect(isInert(inertText(text))).toBe(true);
  });

  it('the sample has 200 real names in 20 scripts', () => {
    expect(realNames.length).toBeGreaterThanOrEqual(200);
    expect(new Set(realNames.map(([script]) => script)).size).toBeGreaterThanOrEqual(20);
  });

  it.each(realNames)('accepts a real name, and stores it as NFC: %s, %s', (_, name) => {
    expect(plainName(80).parse(name)).toBe(name.normalize('NFC'));
    expect(inertText(name)).toBe(name.normalize('NFC'));
  });

  it('makes any text inert, and returns inert text unchanged', () => {
    const mischief = fc.constantFrom(...'\u0301\u0903\u094D\u200C\u200D\uFE0F\u20E3\u0336 1aکا❤क');
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.array(mischief, { maxLength: 30 }).map(characters => characters.join('')),
    );
    fc.assert(
      fc.property(texts, text => {
        const inert = inertText(text);
        expect(isInert(inert)).toBe(true);
        if (isInert(text.normalize('NFC'))) expect(inert).toBe(text.normalize('NFC'));
      }),
      { numRuns: 500, examples: [['क\u0301\u200C\u094D\u200D']] },
    );
  });
});
