import { describe, expect, it } from 'vitest';
import { Admission, watchLoopDelay } from './admission.ts';
import type { RequestClass } from './request-class.ts';

const LIMITS = { requestsInFlight: 100, eventLoopDelayMs: 100 };
const CLASSES: readonly RequestClass[] = ['health', 'finish', 'read', 'wait', 'new'];

function admissionWith(p: { inFlight?: number; delayMs?: number; limits?: typeof LIMITS } = {}) {
  const delay = { ms: p.delayMs ?? 0 };
  const admission = new Admission(p.limits ?? LIMITS, delay);
  for (let n = 0; n < (p.inFlight ?? 0); n += 1) admission.enter();
  return { admission, delay };
}
const admitted = (admission: Admission) => CLASSES.filter(each => admission.refusal(each) === undefined);

describe('admission', () => {
  it.each([
    [0, ['health', 'finish', 'read', 'wait', 'new']],
    [69, ['health', 'finish', 'read', 'wait', 'new']],
    [70, ['health', 'finish', 'read', 'wait']],
    [84, ['health', 'finish', 'read', 'wait']],
    [85, ['health', 'finish']],
    [99, ['health', 'finish']],
    [100, ['health']],
    [1_000, ['health']],
  ])('depends on the class with %i of 100 requests in flight', (inFlight, expected) => {
    const { admission } = admissionWith({ inFlight });
    expect(admitted(admission)).toEqual(expected);
    for (const each of CLASSES.filter(one => !expected.includes(one)))
      expect(admission.refusal(each)).toBe('in_flight');
  });

  it.each([
    [70, ['health', 'finish', 'read', 'wait', 'new']],
    [71, ['health', 'finish', 'read', 'wait']],
    [86, ['health', 'finish']],
    [101, ['health']],
  ])('depends on the class with an event loop delay of %i ms, limit 100', (delayMs, expected) => {
    const { admission } = admissionWith({ delayMs });
    expect(admitted(admission)).toEqual(expected);
    for (const each of CLASSES.filter(one => !expected.includes(one)))
      expect(admission.refusal(each)).toBe('event_loop');
  });

  it('admission is decided for every request', () => {
    const { admission, delay } = admissionWith({ inFlight: 100, delayMs: 500 });
    expect(admission.refusal('new')).toBe('in_flight');
    for (let n = 0; n < 31; n += 1) admission.leave();
    expect(admission.inFlight).toBe(69);
    expect(admission.refusal('new')).toBe('event_loop');
    delay.ms = 0;
    expect(admitted(admission)).toEqual(CLASSES);
  });

  it('admits one request of each class, however small the limit', () => {
    const { admission } = admissionWith({ limits: { ...LIMITS, requestsInFlight: 1 } });
    expect(admitted(admission)).toEqual(CLASSES);
    admission.enter();
    expect(admitted(admission)).toEqual(['health']);
  });
});

/** A timer that runs when the test tells it to, and a clock that advances only with it. */
function createLoop() {
  let now = 1_000;
  let pending: { readonly run: () => void; readonly ms: number } | undefined;
  const delay = watchLoopDelay({
    now: () => now,
    setTimer: (run, ms) => {
      pending = { run, ms };
      return {
        [Symbol.dispose]() {
          pending = undefined;
        },
      };
    },
  });
  const late = (...times: number[]) => {
    for (const ms of times) {
      now += (pending?.ms ?? 0) + ms;
      pending?.run();
    }
    return delay.ms;
  };
  return { delay, late, isWatching: () => pending !== undefined };
}

describe('the event loop delay', () => {
  it('the event loop delay is zero while timers run when they are due', () => {
    const { delay, late } = createLoop();
    expect(delay.ms).toBe(0);
    expect(late(0, 0, 0, 0)).toBe(0);
  });

  it('ignores one or two long pauses', () => {
    const { late } = createLoop();
    expect(late(0, 900)).toBe(0);
    expect(late(2, 3, 4)).toBe(2);
    expect(late(800, 900)).toBe(4);
  });

  it('the event loop delay is the minimum of the last three samples', () => {
    const { late } = createLoop();
    expect(late(300, 200, 400)).toBe(200);
    expect(late(500)).toBe(200);
    expect(late(600)).toBe(400);
  });

  it('ends with the first sample that is on time', () => {
    const { late } = createLoop();
    expect(late(700, 700, 700)).toBe(700);
    expect(late(1)).toBe(1);
  });

  it('treats an early timer as on time', () => {
    const { late } = createLoop();
    expect(late(-1, -1, -1)).toBe(0);
  });

  it('stops sampling when it is disposed of', () => {
    const { delay, isWatching } = createLoop();
    expect(isWatching()).toBe(true);
    delay[Symbol.dispose]();
    expect(isWatching()).toBe(false);
  });
});
