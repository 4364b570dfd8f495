import { describe, expect, test } from 'vitest';
import { findPatternFault, isWholeMatch, occursIn } from './patterns.ts';

const field = (change: { pattern?: string; maxLength?: number } = {}) => ({ maxLength: 100, ...change });

describe('a pattern of an MCP server', () => {
  test.each(['ak_[a-z0-9]{8,}', '[0-9a-f]{64}', '-----BEGIN [A-Z ]+-----(?s:.*)', '(?:[0-9A-F]{2}:){31}[0-9A-F]{2}'])(
    'is accepted: %s',
    pattern => {
      expect(findPatternFault([field({ pattern, maxLength: 4096 })])).toBeUndefined();
    },
  );

  test.each(['(', '(?=look)', '(a)\\1', '((a{30}){30}){30}'])(
    'a pattern of an MCP server is refused if it is not RE2 syntax: %s',
    pattern => {
      expect(findPatternFault([field(), field({ pattern })])).toMatchObject({ at: 1 });
    },
  );

  test.each(['.{0,999}'.repeat(25), `${'((.?){10}){100}'.repeat(10)}`, '\\Q[\\E.{0,999}.{0,999}'])(
    'is refused if it would block the event loop: %s',
    pattern => {
      expect(findPatternFault([field({ pattern, maxLength: 4096 })])).toMatchObject({ at: 0 });
    },
  );

  test('S66: a pattern of an MCP server is refused before it is compiled if it exceeds the compile limit of the page', () => {
    const fields = Array.from({ length: 20 }, () => field({ pattern: 'a{0,1000}'.repeat(22), maxLength: 1 }));
    expect(findPatternFault(fields)).toMatchObject({ at: 0, message: expect.stringContaining('compile') });
    const classes = Array.from({ length: 20 }, () => field({ pattern: `[${'\\pL\\PL'.repeat(30)}]`, maxLength: 1 }));
    expect(findPatternFault(classes)).toMatchObject({ at: 1, message: expect.stringContaining('compile') });
  });

  test('counts towards the match limit of the page', () => {
    const pattern = '[a-z]{200}';
    const fields = Array.from({ length: 8 }, () => field({ pattern, maxLength: 4096 }));
    expect(findPatternFault(fields.slice(0, 1))).toBeUndefined();
    expect(findPatternFault(fields)).toBeDefined();
    expect(findPatternFault(fields.map(each => ({ ...each, maxLength: 200 })))).toBeUndefined();
  });
});

test.each([
  ['[a-z]+', 'Kiel 1', { whole: false, occurs: true }],
  ['^[a-z]+$', 'kiel', { whole: true, occurs: true }],
  ['^[a-z]+$', 'kiel\nKIEL', { whole: false, occurs: false }],
  ['^.$', '👍', { whole: true, occurs: true }],
  ['^(a+)+$', `${'a'.repeat(4095)}!`, { whole: false, occurs: false }],
])('%s matches %j: %j', (pattern, text, { whole, occurs }) => {
  expect([isWholeMatch(pattern, text), occursIn(pattern, text)]).toEqual([whole, occurs]);
});
