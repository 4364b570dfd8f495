import { expect, test } from 'vitest';
import { monogramOf, toneCount, toneOf } from './monograms.ts';

const zalgo = `Z${'\u0335\u0336\u0337\u0338'.repeat(40)}algo`;

test.each([
  ['Issue Tracker', 'IT'],
  ['issue tracker', 'IT'],
  ['GitHub', 'GH'],
  ['Slack', 'Sl'],
  ['monday.com', 'MC'],
  ['Notes', 'N'],
  ['Okta', 'O'],
  ['IBM', 'IB'],
  ['X', 'X'],
  ['Auth0', 'Au'],
  ['Area 51', 'A5'],
  ['Élan Vital', 'ÉV'],
  ['E\u0301lan', 'Él'],
  ['straße', 'St'],
  ['ßharp', 'ßh'],
  ['Ирина Петрова', 'ИП'],
  ['问题跟踪', '问'],
  ['問題 トラッカー', '問'],
  ['متعقب المشكلات', 'م'],
  ['מעקב בעיות', 'מ'],
  ['हिन्दी ऐप', 'हि'],
  ['🚀 Rocket', 'Ro'],
  ['👨‍👩‍👧‍👦', '👨‍👩‍👧‍👦'],
  ['🏴󠁧󠁢󠁥󠁮󠁧󠁿!', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
  ['', ''],
  [' \u200b\u202e\u2066\u00ad ', ''],
  ['\u202eelgooG', 'EG'],
  ['\u3164\uffa0', ''],
  ['<script>alert(1)</script>', 'SA'],
  ['…—!?', ''],
])('%j has the monogram %j', (name, expected) => {
  expect(monogramOf(name)).toBe(expected);
});

test('a person has the initials of the first and the last word', () => {
  expect(monogramOf('Ada Lovelace Okafor', 'last')).toBe('AO');
  expect(monogramOf('ada.okafor@northwind.example', 'last')).toBe('AE');
});

test('piled-up marks and endless names stay short', () => {
  expect([...monogramOf(zalgo)].length).toBeLessThanOrEqual(6);
  expect(monogramOf('x'.repeat(100_000))).toBe('Xx');
  expect([...monogramOf('\u0301'.repeat(100_000))].length).toBe(0);
});

test('tones are stable, and names differ in them', () => {
  expect(toneOf('Issue Tracker')).toBe(toneOf('Issue Tracker'));
  expect(toneOf('E\u0301lan')).toBe(toneOf('Élan'));
  const tones = new Set(Array.from({ length: 400 }, (_, index) => toneOf(`App ${index}`)));
  expect([...tones].toSorted((a, b) => a - b)).toEqual(Array.from({ length: toneCount }, (_, index) => index));
});
