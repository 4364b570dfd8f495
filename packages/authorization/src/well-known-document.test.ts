import { describe, expect, it, vi } from 'vitest';
import { createPromiseCache } from './well-known-document.ts';

describe('createPromiseCache', () => {
  function at(lifetimeMs = 1000) {
    const clock = { now: 1 };
    let loads = 0;
    const get = createPromiseCache<{ load: number }>({ lifetimeMs, now: () => clock.now });
    return { get, clock, load: async () => ({ load: ++loads }) };
  }

  it('loads once for concurrent callers, and again after expiry', async () => {
    const { get, clock, load } = at();
    const loaded = await Promise.all([get('a', load), get('a', load), get('b', load)]);
    expect(loaded).toEqual([{ load: 1 }, { load: 1 }, { load: 2 }]);
    clock.now += 999;
    expect(await get('a', load)).toEqual({ load: 1 });
    clock.now += 1;
    expect(await get('a', load)).toEqual({ load: 3 });
  });

  it('caches no failure, which all concurrent callers get', async () => {
    const { get, load } = at();
    const failing = vi.fn(() => Promise.reject(new Error('no')));
    const failed = await Promise.allSettled([get('a', failing), get('a', failing)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(failing).toHaveBeenCalledTimes(1);
    expect(await get('a', load)).toEqual({ load: 1 });
  });

  it('S55: changing keys cannot exhaust memory, and their loads take no value from the callers of another load', async () => {
    const { get, load } = at();
    const { promise, resolve } = Promise.withResolvers<{ load: number }>();
    const early = get('early', () => promise);
    for (let key = 0; key < 1_000; key += 1) await get(`key ${key}`, load);
    resolve({ load: 0 });
    expect(await early).toEqual({ load: 0 });
    expect(await get('key 999', load)).toEqual({ load: 1_000 });
    expect(await get('early', load)).toEqual({ load: 1_001 });
  });
});
