import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { createContentKeys } from './content-keys.ts';
import { createKeyRing, createVault } from './index.ts';
import { startSoftwareKeyService } from './testing/software-key-service.ts';

const keyService = await startSoftwareKeyService(['kms']);
afterAll(() => keyService[Symbol.asyncDispose]());
afterEach(() => {
  keyService.setMood('well');
  vi.useRealTimers();
});

const context = { purpose: 'connection', owner: 'tracker', subject: 'alice@people.example' };
const MINUTE = 60_000;

function world(limits = { count: 100, ms: 5 * MINUTE }) {
  let time = 0;
  const ring = createKeyRing([{ kid: 'kms', service: keyService.service }]);
  return {
    /** A new vault starts without kept keys, as another replica does. */
    replica: () => createVault(ring, { contentKeys: limits, now: () => time }),
    pass(ms: number) {
      time += ms;
    },
  };
}
async function requestsFor(work: () => Promise<unknown>): Promise<number> {
  const before = keyService.calls;
  await work();
  return keyService.calls - before;
}

describe('S120: content keys stay in memory, bounded by count and time', () => {
  it('200 reads of one value take one request, and none in the vault that sealed it', async () => {
    const { replica } = world();
    const sealing = replica();
    const sealed = await sealing.seal('secret', context);
    const readOften = async (vault: typeof sealing) => {
      for (let at = 0; at < 200; at += 1) expect(await vault.open(sealed, context)).toBe('secret');
    };
    expect(await requestsFor(() => readOften(sealing))).toBe(0);
    expect(await requestsFor(() => readOften(replica()))).toBe(1);
  });

  it('concurrent reads of one value share one request', async () => {
    const { replica } = world();
    const sealed = await replica().seal('secret', context);
    const vault = replica();
    expect(await requestsFor(() => Promise.all(Array.from({ length: 50 }, () => vault.open(sealed, context))))).toBe(1);
  });

  it('asks again after the time, which reads do not extend', async () => {
    const { replica, pass } = world();
    const vault = replica();
    const sealed = await vault.seal('secret', context);
    pass(5 * MINUTE - 1);
    expect(await requestsFor(() => vault.open(sealed, context))).toBe(0);
    pass(1);
    expect(await requestsFor(() => vault.open(sealed, context))).toBe(1);
  });

  it('keeps no more keys than configured, and drops the oldest', async () => {
    const vault = world({ count: 2, ms: MINUTE }).replica();
    const [first = '', second = '', third = ''] = [
      await vault.seal('1', context),
      await vault.seal('2', context),
      await vault.seal('3', context),
    ];
    expect(await requestsFor(() => vault.open(second, context))).toBe(0);
    expect(await requestsFor(() => vault.open(third, context))).toBe(0);
    expect(await requestsFor(() => vault.open(first, context))).toBe(1);
  });

  it.each([
    { count: 0, ms: MINUTE },
    { count: 10, ms: 0 },
  ])('keeps none with a limit of 0: %o', async limits => {
    const vault = world(limits).replica();
    const sealed = await vault.seal('secret', context);
    expect(await requestsFor(() => vault.open(sealed, context))).toBe(1);
    expect(await requestsFor(() => vault.open(sealed, context))).toBe(1);
  });

  it('a kept key opens the value only in its own context', async () => {
    const vault = world().replica();
    const sealed = await vault.seal('secret', context);
    await expect(vault.open(sealed, { ...context, owner: 'other' })).rejects.toMatchObject({ code: 'not_authentic' });
    expect(await vault.open(sealed, context)).toBe('secret');
  });

  it('opens values with kept keys while the service fails, and others after it recovers', async () => {
    const { replica } = world();
    const vault = replica();
    const other = await replica().seal('other', context);
    const sealed = await vault.seal('secret', context);
    keyService.setMood('failing');
    expect(await vault.open(sealed, context)).toBe('secret');
    await expect(vault.open(other, context)).rejects.toMatchObject({
      code: 'key_service_unavailable',
      kid: 'kms',
      fault: 'failed',
    });
    keyService.setMood('well');
    expect(await vault.open(other, context)).toBe('other');
  });
});

it('S160: a wrong content key of the service is not kept, so the value opens when the service works again', async () => {
  const { replica } = world();
  const sealed = await replica().seal('secret', context);
  const vault = replica();
  keyService.setMood('wrong');
  await expect(vault.open(sealed, context)).rejects.toMatchObject({ code: 'not_authentic' });
  keyService.setMood('well');
  expect(await vault.open(sealed, context)).toBe('secret');
});

it('S160: re-wrapping fails if the service wraps wrongly, although the content key is in memory', async () => {
  const local = { kid: 'local', key: randomBytes(32) };
  const before = await createVault(createKeyRing([local])).seal('secret', context);
  const vault = createVault(createKeyRing([{ kid: 'kms', service: keyService.service }, local]), {
    contentKeys: { count: 10, ms: MINUTE },
  });
  keyService.setMood('wrong');
  await expect(vault.reseal(before, context)).rejects.toMatchObject({
    code: 'key_service_unavailable',
    fault: 'unusable_response',
  });
  keyService.setMood('well');
  expect(await requestsFor(() => vault.reseal(before, context))).toBe(2);
});

it('drops expired keys of an idle process', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const keys = createContentKeys({ count: 10, ms: MINUTE }, () => performance.now());
  const of = { kid: 'kms', context: 'c', wrapped: randomBytes(40) };
  keys.put(of, randomBytes(32));
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(MINUTE);
  // The timer is armed only while a key is kept.
  expect(vi.getTimerCount()).toBe(0);
});
