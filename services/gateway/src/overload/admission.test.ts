import { describe, expect, it } from 'vitest';
import { Admission } from './admission.ts';
import type { RequestClass } from './request-class.ts';

const LIMITS = { requestsInFlight: 100, eventLoopDelayMs: 100 };
const CLASSES: readonly RequestClass[] = ['health', 'finish', 'read', 'wait', 'new'];

function admissionWith(p: { inFlight?: number; delayMs?: number; limits?: typeof LIMITS } = {}) {
  const delay = { ms: p.delayMs ?? 0 };
  const admission = new Admission(p.limits ?? LIMITS, delay);
  for (let n = 0; n < (p.inFlight ?? 0); n += 1) admission.enter();
  return { admission, delay };
}
const welcome = (admission: Admission) => CLASSES.filter(each => admission.refusal(each) === undefined);

describe('who is let in', () => {
  it.each([
    [0, ['health', 'finish', 'read', 'wait', 'new']],
    [69, ['health', 'finish', 'read', 'wait', 'new']],
    [70, ['health', 'finish', 'read', 'wait']],
    [84, ['health', 'finish', 'read', 'wait']],
    [85, ['health', 'finish']],
    [99, ['health', 'finish']],
    [100, ['health']],
    [1_000, ['health']],
  ])('with %i of 100 requests in flight', (inFlight, expected) => {
    const { admission } = admissionWith({ inFlight });
    expect(welcome(admission)).toEqual(expected);
    for (const each of CLASSES.filter(one => !expected.includes(one)))
      expect(admission.refusal(each)).toBe('in_flight');
  });

  it.each([
    [70, ['health', 'finish', 'read', 'wait', 'new']],
    [71, ['health', 'finish', 'read', 'wait']],
    [86, ['health', 'finish']],
    [101, ['health']],
  ])('when the process is %i ms late, of 100', (delayMs, expected) => {
    const { admission } = admissionWith({ delayMs });
    expect(welcome(admission)).toEqual(expected);
    for (const each of CLASSES.filter(one => !expected.includes(one)))
      expect(admission.refusal(each)).toBe('event_loop');
  });

  it('is decided anew for every request', () => {
    const { admission, delay } = admissionWith({ inFlight: 100, delayMs: 500 });
    expect(admission.refusal('new')).toBe('in_flight');
    for (let n = 0; n < 31; n += 1) admission.leave();
    expect(admission.inFlight).toBe(69);
    expect(admission.refusal('new')).toBe('event_loop');
    delay.ms = 0;
    expect(welcome(admission)).toEqual(CLASSES);
  });

  it('leaves room for each class, however small the limit', () => {
    const { admission } = admissionWith({ limits: { ...LIMITS, requestsInFlight: 1 } });
    expect(welcome(admission)).toEqual(CLASSES);
    admission.enter();
    expect(welcome(admission)).toEqual(['health']);
  });
});
