import { afterAll, describe, expect, test } from 'vitest';
import { createPatternThread } from './pattern-thread.ts';
import { createPatterns } from './patterns.ts';

const patterns = createPatterns();
afterAll(() => patterns[Symbol.asyncDispose]());

/** Folds the case of 120,000 code points, many times. */
const SLOW = `(?i)${'[\\x{80}-\\x{1e943}\\x{1e945}-\\x{10fffe}]'.repeat(40)}`;
const field = (pattern?: string, maxLength = 100) => ({ path: `of ${pattern}`, pattern, maxLength });
const another = () => crypto.randomUUID();
const faultOf = (pattern: string, maxLength?: number) =>
  patterns.findFault(another(), [field(), field(pattern, maxLength)]);

describe('a pattern of an MCP server', () => {
  test.each([
    'ak_[a-z0-9]{8,}',
    '[0-9a-f]{64}',
    '-----BEGIN [A-Z ]+-----(?s:.*)',
    '(?:[0-9A-F]{2}:){31}[0-9A-F]{2}',
    '(?i)^[\\p{Greek}a-z]+$',
  ])('is accepted: %s', async pattern => {
    expect(await faultOf(pattern, 4096)).toBeUndefined();
  });

  test.each(['(', '(?=look)', '(a)\\1', '((a{30}){30}){30}', '('.repeat(200)])(
    'is refused by its path if it is not RE2 syntax: %s',
    async pattern => {
      expect(await faultOf(pattern)).toEqual({ path: `of ${pattern}`, message: expect.stringContaining('RE2') });
    },
  );

  test.each([
    ['compile', '.{0,999}'.repeat(25), 1],
    ['compile', `${'((.?){10}){100}'.repeat(10)}`, 1],
    ['compile', SLOW, 1],
    ['match', '[a-z]{0,900}', 4096],
  ])('S197: is refused if it takes too long to %s', async (what, pattern, maxLength) => {
    expect(await faultOf(pattern, maxLength)).toMatchObject({ message: expect.stringContaining(what) });
  });

  test.each([
    ['[a-z]+', 'Kiel 1', { whole: false, any: true }],
    ['^[a-z]+$', 'kiel', { whole: true, any: true }],
    ['^[a-z]+$', 'kiel\nKIEL', { whole: false, any: false }],
    ['^.$', '👍', { whole: true, any: true }],
    ['^(a+)+$', `${'a'.repeat(4095)}!`, { whole: false, any: false }],
  ])('matches all of a text or part of it: %s', async (pattern, text, expected) => {
    for (const part of ['whole', 'any'] as const)
      expect(await patterns.matches(another(), { pattern, text, part })).toBe(expected[part]);
  });

  test('S197: leaves an answer unchecked if it takes too long, and the thread after it works', async () => {
    const mcpServerId = another();
    expect(await patterns.matches(mcpServerId, { pattern: SLOW, text: 'a', part: 'any' })).toBe('unchecked');
    expect(await patterns.matches(mcpServerId, { pattern: 'a', text: 'a', part: 'any' })).toBe(true);
  });

  test('S197: does not wait for the costly patterns of another MCP server', async () => {
    const [hostile, other] = [another(), another()];
    let refused = 0;
    const costly = Array.from({ length: 6 }, async (_, at) => {
      await patterns.findFault(hostile, [field(`${SLOW}${at}`)]);
      refused += 1;
    });
    void Promise.allSettled(costly);
    expect(await patterns.findFault(other, [field('b+')])).toBeUndefined();
    expect(refused).toBeLessThan(costly.length);
  });
});

describe('the thread of patterns', () => {
  test('blames a pattern that takes too much memory', async () => {
    const thread = createPatternThread();
    const pattern = '(?:.{0,999}.{0,999}.{0,999}){200}';
    expect(await thread.run({ pattern }, 60_000)).toMatchObject({
      answer: expect.stringMatching(/invalid|too_costly/),
    });
    expect(await thread.run({ pattern: 'a' }, 1_000)).toMatchObject({ answer: 3 });
    await thread.end();
  });
});
