import { describe, expect, it } from 'vitest';
import { FailedAttempts } from './failed-attempts.ts';

describe('S201: attempts of strangers that a third party refuses', () => {
  const setUp = () => {
    let now = 1_000;
    const refusals = new FailedAttempts({ perAddress: 3, perProcess: 5 }, () => now);
    return { refusals, pass: (ms: number) => (now += ms) };
  };

  it('are limited per address, for a minute, and a success counts for nothing', () => {
    const { refusals, pass } = setUp();
    for (let n = 0; n < 10; n += 1) refusals.begin('a')();
    for (let n = 0; n < 3; n += 1) refusals.begin('a');
    expect(() => refusals.begin('a')).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfterMs: 60_000 }));
    pass(59_999);
    expect(() => refusals.begin('a')).toThrow();
    pass(1);
    refusals.begin('a');
  });

  it('are limited per process for addresses that had a refusal, and not for others', () => {
    const { refusals } = setUp();
    for (const address of ['a', 'b', 'c', 'd', 'e']) refusals.begin(address);
    expect(() => refusals.begin('a')).toThrow();
    expect(() => refusals.begin('a person')()).not.toThrow();
  });

  it('count from their beginning, so that concurrent ones are limited too', () => {
    const { refusals } = setUp();
    const succeeded = [refusals.begin('a'), refusals.begin('a'), refusals.begin('a')];
    expect(() => refusals.begin('a')).toThrow();
    for (const each of succeeded) each();
    refusals.begin('a');
  });
});
