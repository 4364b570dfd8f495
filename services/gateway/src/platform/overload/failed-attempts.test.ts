import { describe, expect, it } from 'vitest';
import { FailedAttempts } from './failed-attempts.ts';

describe('S201: attempts of strangers that a third party refuses', () => {
  const setUp = () => {
    let now = 1_000;
    const attempts = new FailedAttempts({ perAddress: 30, perProcess: 50 }, () => now);
    const fail = (address: string, times = 1) => {
      for (let n = 0; n < times; n += 1) attempts.begin(address)(false);
    };
    const isRefused = (address: string) => {
      try {
        attempts.begin(address)(true);
        return false;
      } catch (error) {
        expect(error).toMatchObject({ code: 'rate_limited' });
        return true;
      }
    };
    return { attempts, fail, isRefused, pass: (ms: number) => (now += ms) };
  };

  it('are limited per address, for a minute', () => {
    const { attempts, fail, pass } = setUp();
    fail('192.0.2.1', 30);
    expect(() => attempts.begin('192.0.2.1')).toThrow(
      expect.objectContaining({ code: 'rate_limited', retryAfterMs: 60_000 }),
    );
    pass(59_999);
    expect(() => attempts.begin('192.0.2.1')).toThrow();
    pass(1);
    attempts.begin('192.0.2.1');
  });

  it('beyond the limit per process: an office whose people sign in, or have failed a little, goes on', () => {
    const { fail, isRefused } = setUp();
    fail('192.0.2.1', 30);
    fail('192.0.2.2', 20);
    expect(isRefused('198.51.100.7')).toBe(false);
    fail('198.51.100.7', 2);
    for (let person = 0; person < 6; person += 1) expect(isRefused('198.51.100.7')).toBe(false);
    expect(isRefused('203.0.113.8')).toBe(false);
    fail('203.0.113.9', 3);
    expect(isRefused('203.0.113.9')).toBe(true);
  });

  it('of a whole office at one time are no refusals', () => {
    const { attempts } = setUp();
    const office = Array.from({ length: 45 }, () => attempts.begin('198.51.100.7'));
    for (const ended of office) ended(true);
  });

  it('are bounded while they are under way', () => {
    const { attempts } = setUp();
    for (let n = 0; n < 120; n += 1) attempts.begin('192.0.2.1');
    expect(() => attempts.begin('192.0.2.1')).toThrow();
    attempts.begin('192.0.2.2');
  });

  it('count for a site: new networks of it are not free', () => {
    const { fail, isRefused } = setUp();
    for (let network = 0; network < 120; network += 1) {
      if (isRefused(`2001:db8:1:${network.toString(16)}::1`)) break;
      fail(`2001:db8:1:${network.toString(16)}::1`, 3);
    }
    expect(isRefused('2001:db8:1:ffff::1')).toBe(true);
    expect(isRefused('2001:db8:2::1')).toBe(false);
  });

  it('that ask no third party count for nothing', () => {
    const { attempts, isRefused } = setUp();
    for (let n = 0; n < 100; n += 1) attempts.begin('192.0.2.1')(undefined);
    expect(isRefused('192.0.2.1')).toBe(false);
  });

  it('of a neighbour in the same site refuse no network from which somebody has signed in', () => {
    const { fail, isRefused } = setUp();
    expect(isRefused('2001:db8:1:1::1')).toBe(false);
    for (let network = 2; network < 42; network += 1) fail(`2001:db8:1:${network.toString(16)}::1`, 3);
    fail('2001:db8:1:50::1', 2);
    expect(isRefused('2001:db8:1:99::1')).toBe(true);
    expect(isRefused('2001:db8:1:1::1')).toBe(false);
  });

  it('beyond ten times the limit per process come only from known networks', () => {
    const { fail, isRefused, pass } = setUp();
    expect(isRefused('198.51.100.7')).toBe(false);
    pass(60_000);
    for (let site = 0; site < 500; site += 1) fail(`2001:db8:${site.toString(16)}::1`);
    expect(isRefused('192.0.2.1')).toBe(true);
    expect(isRefused('198.51.100.7')).toBe(false);
  });

  it('behind the address of a carrier: the successes of its people speak for it', () => {
    const { attempts, fail, isRefused } = setUp();
    for (let n = 0; n < 40; n += 1) {
      if (n % 2 === 0) fail('192.0.2.1');
      else attempts.begin('192.0.2.1')(true);
    }
    fail('192.0.2.1', 15);
    expect(isRefused('192.0.2.1')).toBe(false);
  });
});
