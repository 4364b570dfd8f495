import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inertText, isInert, plainName, plainText, unseenApart } from './plain-text.ts';

const text = plainText(40);

describe('S31 plain text', () => {
  it.each([
    'Connect GitHub to list your repositories',
    '连接你的账户',
    'عنوان',
    'Zoë’s café',
    'Family 👨‍👩‍👧‍👦 and flag 🏳️‍🌈',
    'Skin tone 👩🏽‍🚀',
    '<b>not markup here</b>',
  ])('accepts %j', value => {
    expect(text.parse(value)).toBe(value.normalize('NFC'));
  });

  it('returns the normal form, so that equal texts have one spelling', () => {
    expect(text.parse(' Cafe\u0301 ')).toBe('Caf\u00e9');
  });

  it.each([
    ['newline', 'a\nb'],
    ['NUL', 'a\u0000b'],
    ['escape', '\u001b[31mred'],
    ['C1 control', 'a\u0085b'],
    ['right-to-left override', 'moc.live\u202e'],
    ['isolate', '\u2066x\u2069'],
    ['right-to-left mark', 'a\u200fb'],
    ['zero-width space', 'a\u200bb'],
    ['joiner between letters', 'a\u200db'],
    ['word joiner', 'a\u2060b'],
    ['line separator', 'a\u2028b'],
    ['soft hyphen', 'pay\u00adpal'],
    ['byte order mark', 'a\ufeffb'],
    ['tag character', 'a\u{e0041}'],
    ['private use', 'a\ue000'],
    ['lone surrogate', 'a\ud800'],
    ['unassigned', 'a\u{1fffe}'],
    ['only spaces', '   '],
    ['too long', 'x'.repeat(41)],
  ])('refuses %s', (_name, value) => {
    expect(text.safeParse(value).success).toBe(false);
  });

  it('counts characters as users see them', () => {
    expect(text.safeParse('👨‍👩‍👧‍👦'.repeat(10)).success).toBe(true);
    expect(text.safeParse('e\u0301'.repeat(40)).success).toBe(true);
    expect(text.safeParse('e\u0301'.repeat(41)).success).toBe(false);
  });

  it('never lets a refused character through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), value => {
        const parsed = text.safeParse(value);
        if (parsed.success) expect(isInert(parsed.data)).toBe(true);
      }),
    );
  });
});

describe('S31: a name', () => {
  const name = plainName(40);

  it.each(['P\u0430ypal', '\u0410pple Store', 'Amaz\u03bfn'])('refuses a word that mixes two alphabets: %j', value => {
    expect(name.safeParse(value).success).toBe(false);
  });

  it.each(['Paypal', '\u041c\u043e\u0441\u043a\u0432\u0430 Shop', 'Caf\u00e9 \u6771\u4eac'])('accepts %j', value => {
    expect(name.parse(value)).toBe(value);
  });
});

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

  it.each([
    ['a\u200bb', ['a', '\u200b', 'b']],
    ['\u202Eabc\u202C', ['', '\u202E', 'abc', '\u202C', '']],
    ['tag\u{e0041}\u{e0042}', ['tag', '\u{e0041}\u{e0042}', '']],
    ['line\r\n\tnext', ['line', '\r', '\n\tnext']],
    ['\u0301x', ['', '\u0301', 'x']],
    ['a\u0301\u0301\u0301\u0301\u0301', ['a\u0301\u0301\u0301\u0301', '\u0301', '']],
    ['می‌خواهم 👩‍👩‍👧 1️⃣ e\u0301', ['می‌خواهم 👩‍👩‍👧 1️⃣ e\u0301']],
  ])('sets apart what would not be seen in %j', (text, pieces) => {
    expect(unseenApart(text)).toEqual(pieces);
  });

  it('sets apart without losing a character, and leaves only what is seen', () => {
    const mischief = fc.constantFrom(...'\u0301\u0903\u094D\u200C\u200D\uFE0F\u20E3\u0336\u200b\n 1aکا❤क');
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.array(mischief, { maxLength: 30 }).map(characters => characters.join('')),
    );
    fc.assert(
      fc.property(texts, text => {
        const pieces = unseenApart(text);
        expect(pieces.join('')).toBe(text);
        const seen = pieces.filter((_, index) => index % 2 === 0).join('x');
        for (const line of seen.split(/[\n\t]/)) expect(/[^\P{C}\u200C\u200D]|\p{M}{7}|^\p{M}/u.test(line)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
