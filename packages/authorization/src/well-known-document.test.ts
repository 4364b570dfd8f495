import { describe, expect, it } from 'vitest';
import { createPromiseCache } from './well-known-document.ts';

describe('createPromiseCache', () => {
  function at(lifetimeMs = 1000) {
    const clock = { now: 0 };
    let loads = 0;
    const cache = createPromiseCache<number>({ lifetimeMs, now: () => clock.now });
    return { cache, clock, load: async () => ++loads };
  }

  it('loads once for concurrent callers, and again after expiry', async () => {
    const { cache, clock, load } = at();
    expect(await Promise.all([cache.get('a', load), cache.get('a', load), cache.get('b', load)])).toEqual([1, 1, 2]);
    clock.now = 999;
    expect(await cache.get('a', load)).toBe(1);
    clock.now = 1000;
    expect(await cache.get('a', load)).toBe(3);
  });

  it('caches no failure', async () => {
    const { cache, load } = at();
    await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(cache.size).toBe(0);
    expect(await cache.get('a', load)).toBe(1);
  });

  it('a late failure keeps the newer value', async () => {
    const { cache, clock, load } = at();
    let fail = () => {};
    const failing = cache.get('a', () => new Promise<number>((_, reject) => (fail = () => reject(new Error('late')))));
    clock.now = 1000;
    expect(await cache.get('a', load)).toBe(1);
    fail();
    await expect(failing).rejects.toThrow('late');
    expect(await cache.get('a', load)).toBe(1);
  });

  it('S55: removes expired entries, so changing keys cannot exhaust memory', async () => {
    const { cache, clock, load } = at();
    for (let round = 0; round < 100; round += 1) {
      clock.now = round * 1000;
      await cache.get(`key ${round}`, load);
      expect(cache.size).toBe(1);
    }
  });
});
