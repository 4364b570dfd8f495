import { createFakeClock } from '@postern/testkit/clock';
import { afterAll, describe, expect, test } from 'vitest';
import { createPatternThread, type PatternAnswer, type PatternJob } from './pattern-thread.ts';
import { createPatterns } from './patterns.ts';

const patterns = createPatterns({ now: Date.now });
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
    expect(refused).toBeLessThanOrEqual(1);
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

/** Two lanes whose jobs end on demand. */
function createBench() {
  const clock = createFakeClock();
  const begun: string[] = [];
  const open: ((answer: PatternAnswer) => void)[] = [];
  let threads = 0;
  const bench = createPatterns({
    now: clock.now,
    startThread() {
      const lane = ['quick', 'slow'][threads++];
      return {
        run({ pattern }: PatternJob) {
          begun.push(`${lane} ${pattern}`);
          return new Promise(resolve => open.push(answer => resolve({ answer, usedMs: 1 })));
        },
        end: async () => undefined,
      };
    },
  });
  return {
    ...{ bench, clock, begun },
    ask: (mcpServerId: string, pattern: string) => bench.findFault(mcpServerId, [field(pattern, 1)]),
    /** Ends the oldest job, and waits until the next one has begun. */
    async answer(answer: PatternAnswer = 1) {
      const before = begun.length;
      open.shift()?.(answer);
      await expect.poll(() => begun.length, { interval: 1, timeout: 2_000 }).toBeGreaterThan(before);
    },
    end: (answer: PatternAnswer = 1) => open.shift()?.(answer),
  };
}

describe('S197: the lanes of patterns', () => {
  test('MCP servers take turns, each with one job at a time', async () => {
    const { ask, answer, end, begun } = createBench();
    const asked = ['1', '2', '3'].map(pattern => ask('a', pattern));
    const other = ask('b', '4');
    await answer();
    await answer();
    await answer();
    end();
    await Promise.all([...asked, other]);
    expect(begun).toEqual(['quick 1', 'quick 4', 'quick 2', 'quick 3']);
  });

  test('an MCP server with a costly pattern moves to the slow lane for a minute, with its waiting jobs', async () => {
    const { ask, answer, end, begun, clock } = createBench();
    const asked = [ask('a', '1'), ask('a', '2'), ask('b', '3')];
    await answer('too_costly');
    await expect.poll(() => begun.length, { interval: 1 }).toBe(3);
    expect(begun.toSorted()).toEqual(['quick 1', 'quick 3', 'slow 2']);
    end();
    end();
    expect(await Promise.all(asked)).toEqual([
      { path: 'of 1', message: expect.stringContaining('compile') },
      undefined,
      undefined,
    ]);
    clock.advance(60_000);
    const later = ask('a', '5');
    await expect.poll(() => begun.length, { interval: 1 }).toBe(4);
    expect(begun.at(-1)).toBe('quick 5');
    end();
    await later;
  });

  test('a pattern is compiled once for a burst of equal forms, and its result is kept', async () => {
    const { ask, end, begun } = createBench();
    const burst = Promise.all(Array.from({ length: 200 }, () => ask('a', '1')));
    end();
    await burst;
    await ask('b', '1');
    expect(begun).toEqual(['quick 1']);
  });

  test('more waiting jobs of one MCP server are refused, and an answer among them stays unchecked', async () => {
    const { ask, bench } = createBench();
    for (const pattern of Array.from({ length: 65 }).keys()) void ask('a', `${pattern}`);
    await expect(ask('a', 'more')).rejects.toThrow(expect.objectContaining({ code: 'too_many_concurrent_requests' }));
    expect(await bench.matches('a', { pattern: 'a', text: 'a', part: 'any' })).toBe('unchecked');
  });

  test('a busy machine is no fault of the pattern', async () => {
    const { ask, end } = createBench();
    const asked = ask('a', '1');
    end('stuck');
    await expect(asked).rejects.toThrow(expect.objectContaining({ code: 'overloaded' }));
  });
});
