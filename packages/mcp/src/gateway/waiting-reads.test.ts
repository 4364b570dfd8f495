import type { ElicitationBody } from '@postern/api';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GatewayError } from '../errors.ts';
import { exampleElicitation } from '../testing/example-elicitation.ts';
import { WaitingReads } from './waiting-reads.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pending = exampleElicitation();
const declined = exampleElicitation({ status: 'declined' });
const { elicitationId } = pending;
const never = new AbortController().signal;

/** A gateway whose reads the test answers individually. */
function setUp(limit = 10) {
  const reads: { readonly wait: number; readonly answer: PromiseWithResolvers<ElicitationBody> }[] = [];
  const aborted: number[] = [];
  const pauses: number[] = [];
  const client = {
    read(_id: string, wait: number, signal?: AbortSignal) {
      const answer = Promise.withResolvers<ElicitationBody>();
      const index = reads.push({ wait, answer }) - 1;
      let isOpen = true;
      signal?.addEventListener('abort', () => {
        if (isOpen) aborted.push(index);
        answer.reject(signal.reason);
      });
      return answer.promise.finally(() => (isOpen = false));
    },
  };
  const sleep = async (ms: number) => void pauses.push(ms);
  const waitingReads = new WaitingReads({ limit, sleep, random: () => 1 });
  const turn = () => vi.advanceTimersByTimeAsync(0);
  return {
    reads,
    aborted,
    pauses,
    turn,
    watch: (id = elicitationId) => waitingReads.watch(client, id),
    answer: (index: number, body: ElicitationBody) => reads[index]?.answer.resolve(body),
    fail: (index: number, error: Error) => reads[index]?.answer.reject(error),
  };
}

describe('several waiters for one elicitation', () => {
  test('share one read', async () => {
    const { watch, reads, answer } = setUp();
    const waits = Array.from({ length: 100 }, () => watch().wait(45, never));
    expect(reads.map(({ wait }) => wait)).toEqual([45]);
    answer(0, declined);
    expect(new Set(await Promise.all(waits))).toEqual(new Set([declined]));
  });

  test('keep the read until the last waiter leaves', async () => {
    const { watch, aborted, answer } = setUp();
    const [first, second] = [watch(), watch()];
    const leaving = new AbortController();
    const left = first.wait(45, leaving.signal);
    const waits = second.wait(45, never);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    first[Symbol.dispose]();
    expect(aborted).toEqual([]);
    answer(0, declined);
    expect(await waits).toBe(declined);

    using third = watch();
    void third.wait(45, never).catch(() => undefined);
    second[Symbol.dispose]();
    expect(aborted).toEqual([]);
    third[Symbol.dispose]();
    expect(aborted).toEqual([1]);
  });

  test('start another read when the shared one ends before their timeout', async () => {
    const { watch, reads, answer, turn } = setUp();
    const first = watch().wait(45, never);
    await vi.advanceTimersByTimeAsync(40_000);
    const second = watch().wait(30, never);
    await vi.advanceTimersByTimeAsync(5_000);
    answer(0, pending);
    expect(await first).toBe(pending);
    await turn();
    expect(reads.map(({ wait }) => wait)).toEqual([45, 25]);
    answer(1, declined);
    expect(await second).toBe(declined);
  });

  test('return at their own timeout, while the shared read continues', async () => {
    const { watch, aborted } = setUp();
    void watch().wait(45, never);
    const short = watch().wait(10, never);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await short).toBeUndefined();
    expect(aborted).toEqual([]);
  });

  test('all get the error of the shared read, and the next wait reads again', async () => {
    const { watch, reads, fail, answer } = setUp();
    const [one, other] = [watch(), watch()];
    const waits = Promise.allSettled([one.wait(45, never), other.wait(45, never)]);
    fail(0, new GatewayError('network_error', 'down'));
    expect((await waits).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const again = one.wait(45, never);
    answer(1, declined);
    expect(await again).toBe(declined);
    expect(reads).toHaveLength(2);
  });
});

describe('at the limit of waiting reads', () => {
  test.each(['overloaded', 'too_many_concurrent_requests'] as const)(
    'after %s from the gateway, reads the status without waiting after a pause',
    async code => {
      const { watch, reads, pauses, fail, answer, turn } = setUp();
      const wait = watch().wait(45, never);
      fail(0, new GatewayError(code, 'full', { httpStatus: 503 }));
      await turn();
      expect(pauses).toEqual([30_000]);
      expect(reads.map(read => read.wait)).toEqual([45, 0]);
      answer(1, declined);
      expect(await wait).toBe(declined);
    },
  );

  test('reads the status without waiting after a pause, and waits again once there is room', async () => {
    const { watch, reads, pauses, answer, turn } = setUp(1);
    const first = watch().wait(45, never);
    const second = watch('other');
    const polled = second.wait(10, never);
    await turn();
    expect(reads.map(read => read.wait)).toEqual([45, 0]);
    expect(pauses).toEqual([10_000]);
    answer(1, pending);
    expect(await polled).toBe(pending);
    answer(0, declined);
    await first;
    void second.wait(45, never);
    expect(reads.map(read => read.wait)).toEqual([45, 0, 45]);
  });
});
