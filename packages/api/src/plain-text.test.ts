import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInert } from './inert-text.ts';
import { plainName, plainText } from './plain-text.ts';

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
