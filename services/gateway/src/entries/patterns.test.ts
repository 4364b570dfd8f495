import { createFakeClock } from '@postern/testkit/clock';
import { describe, expect, test } from 'vitest';
import type { PatternAnswer, PatternJob } from './pattern-thread.ts';
import { createPatterns } from './patterns.ts';

/** Two lanes whose jobs end on demand. */
function createBench() {
  const clock = createFakeClock();
  const begun: string[] = [];
  const limits: number[] = [];
  const open: ((answer: PatternAnswer) => void)[] = [];
  let threads = 0;
  const bench = createPatterns({
    now: clock.now,
    startThread() {
      const lane = ['quick', 'slow'][threads++];
      return {
        run({ pattern }: PatternJob, limitMs: number) {
          limits.push(limitMs);
          begun.push(`${lane} ${pattern}`);
          return new Promise(resolve => open.push(answer => resolve({ answer, usedMs: 1 })));
        },
        end: async () => undefined,
      };
    },
  });
  return {
    bench,
    clock,
    begun,
    limits,
    ask: (mcpServerId: string, pattern: string, maxLength = 1) =>
      bench.findFault(mcpServerId, [{ path: `of ${pattern}`, pattern, maxLength }]),
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
    await expect.poll(() => begun.length, { interval: 1, timeout: 2_000 }).toBe(3);
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
    await expect.poll(() => begun.length, { interval: 1, timeout: 2_000 }).toBe(4);
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

  test.each([
    [2_000, 500, undefined],
    [2_000, 600, 'match'],
    [2_001, 1, 'compile'],
    ['invalid', 1, 'RE2'],
  ] as const)('a pattern of %s instructions for %i characters is refused: %s', async (size, maxLength, message) => {
    const { ask, end, limits } = createBench();
    const asked = ask('a', '1', maxLength);
    end(size);
    expect((await asked)?.message ?? '').toContain(message ?? '');
    expect((await asked) === undefined).toBe(message === undefined);
    expect(limits).toEqual([25]);
  });

  test('an answer has more time than its pattern had at issue', async () => {
    const { bench, end, limits } = createBench();
    const matches = bench.matches('a', { pattern: 'a', text: 'a', part: 'any' });
    end(true);
    expect(await matches).toBe(true);
    expect(limits).toEqual([50]);
  });

  test('a job that has waited for five seconds is refused', async () => {
    const { ask, end, begun, clock } = createBench();
    const [first, second] = [ask('a', '1'), ask('a', '2')];
    clock.advance(5_001);
    end();
    const refused = expect(second).rejects.toThrow(expect.objectContaining({ code: 'too_many_concurrent_requests' }));
    expect(await first).toBeUndefined();
    await new Promise(setImmediate);
    expect(begun).toEqual(['quick 1']);
    await refused;
  });

  test('a busy machine is no fault of the pattern', async () => {
    const { ask, end } = createBench();
    const asked = ask('a', '1');
    end('stuck');
    await expect(asked).rejects.toThrow(expect.objectContaining({ code: 'overloaded' }));
  });
});
