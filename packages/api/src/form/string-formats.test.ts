import { describe, expect, test } from 'vitest';
import { formatFits } from './string-formats.ts';

const cases = {
  email: {
    fits: ['a@b.example', 'first.last+tag@mail.northwind.example', "o'neil@b.example"],
    not: [
      '',
      'a',
      'a@',
      '@b.example',
      'a@b',
      'a b@c.example',
      'a@b.example, c@d.example',
      `${'a'.repeat(250)}@b.example`,
      'a@b.example\n',
    ],
  },
  uri: {
    fits: [
      'https://example.com',
      'http://example.com:8080/a?b=c#d',
      'HTTPS://EXAMPLE.COM/%7Ea',
      'mailto:a@b.example',
      'urn:isbn:0451450523',
      'ssh://git@example.com/a.git',
      'https://[2001:db8::1]/',
    ],
    not: [
      '',
      'example.com',
      '/path',
      '//example.com',
      'https://',
      'https://a b',
      'https://例子.example',
      'https://a/%zz',
      'https://a/"b"',
      'https://a/\n',
      ':x',
    ],
  },
  date: {
    fits: ['2026-03-04', '2024-02-29', '0001-01-01', '9999-12-31'],
    not: [
      '',
      '2026-3-4',
      '2025-02-29',
      '2026-13-01',
      '2026-00-10',
      '2026-04-31',
      '20260304',
      '2026-03-04T00:00:00Z',
      '10000-01-01',
      '04.03.2026',
    ],
  },
  'date-time': {
    fits: [
      '2026-03-04T14:30:00Z',
      '2026-03-04t14:30:00z',
      '2026-03-04T14:30:00.123456789+05:45',
      '2026-03-04T23:59:59-12:00',
      '2016-12-31T23:59:60Z',
    ],
    not: [
      '',
      '2026-03-04',
      '2026-03-04T14:30Z',
      '2026-03-04T14:30:00',
      '2026-03-04 14:30:00Z',
      '2026-03-04T24:00:00Z',
      '2026-03-04T14:60:00Z',
      '2026-03-04T14:30:61Z',
      '2025-02-29T14:30:00Z',
      '2026-03-04T14:30:00+24:00',
      '2026-03-04T14:30:00+0100',
      '2026-03-04T14:30:00.Z',
    ],
  },
} as const;

describe.each(Object.entries(cases))('format %s', (format, { fits, not }) => {
  const name = format as keyof typeof cases;

  test.each(fits)('%j fits', text => {
    expect(formatFits(name, text)).toBe(true);
  });

  test.each(not)('%j does not', text => {
    expect(formatFits(name, text)).toBe(false);
  });
});
