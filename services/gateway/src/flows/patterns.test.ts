import { describe, expect, test } from 'vitest';
import { isWholeMatch, occursIn, patternFaultIn } from './patterns.ts';

const field = (change: { pattern?: string; maxLength?: number } = {}) => ({ maxLength: 100, ...change });

describe('patterns of an MCP server', () => {
  test.each(['ak_[a-z0-9]{8,}', '[0-9a-f]{64}', '-----BEGIN [A-Z ]+-----(?s:.*)', '(?:[0-9A-F]{2}:){31}[0-9A-F]{2}'])(
    '%s',
    pattern => {
      expect(patternFaultIn([field({ pattern, maxLength: 4096 })])).toBeUndefined();
    },
  );

  test.each(['(', '(?=look)', '(a)\\1', '((a{30}){30}){30}'])('%s is no pattern of RE2', pattern => {
    expect(patternFaultIn([field(), field({ pattern })])).toMatchObject({ at: 1 });
  });

  test.each(['.{0,999}'.repeat(25), `${'((.?){10}){100}'.repeat(10)}`, '\\Q[\\E.{0,999}.{0,999}'])(
    'one that would keep everybody waiting is refused: %s',
    pattern => {
      expect(patternFaultIn([field({ pattern, maxLength: 4096 })])).toMatchObject({ at: 0 });
    },
  );

  test('S66: a page of patterns that repeat is refused by the pattern that exceeds the limit, before it is compiled', () => {
    const fields = Array.from({ length: 20 }, () => field({ pattern: 'a{0,1000}'.repeat(22), maxLength: 1 }));
    expect(patternFaultIn(fields)).toMatchObject({ at: 0, message: expect.stringContaining('compile') });
    const classes = Array.from({ length: 20 }, () => field({ pattern: `[${'\\pL\\PL'.repeat(30)}]`, maxLength: 1 }));
    expect(patternFaultIn(classes)).toMatchObject({ at: 1, message: expect.stringContaining('compile') });
  });

  test('many that are harmless each are counted together', () => {
    const pattern = '[a-z]{200}';
    const fields = Array.from({ length: 8 }, () => field({ pattern, maxLength: 4096 }));
    expect(patternFaultIn(fields.slice(0, 1))).toBeUndefined();
    expect(patternFaultIn(fields)).toBeDefined();
    expect(patternFaultIn(fields.map(each => ({ ...each, maxLength: 200 })))).toBeUndefined();
  });
});

test.each([
  ['[a-z]+', 'Kiel 1', { whole: false, occurs: true }],
  ['^[a-z]+$', 'kiel', { whole: true, occurs: true }],
  ['^[a-z]+$', 'kiel\nKIEL', { whole: false, occurs: false }],
  ['^.$', '👍', { whole: true, occurs: true }],
  ['^(a+)+$', `${'a'.repeat(4095)}!`, { whole: false, occurs: false }],
])('%s in %j', (pattern, text, { whole, occurs }) => {
  expect([isWholeMatch(pattern, text), occursIn(pattern, text)]).toEqual([whole, occurs]);
});
