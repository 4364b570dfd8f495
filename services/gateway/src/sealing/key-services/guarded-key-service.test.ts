import { type KeyEncryptionService, KeyServiceError, type WrapResult } from '@postern/vault';
import { describe, expect, it } from 'vitest';
import { guardKeyService } from './guarded-key-service.ts';

/** A service that responds when the test tells it to. */
function world() {
  let time = 0;
  const asked: PromiseWithResolvers<WrapResult>[] = [];
  const states: (string | undefined)[] = [];
  const service: KeyEncryptionService = {
    wrap() {
      const answer = Promise.withResolvers<WrapResult>();
      asked.push(answer);
      return answer.promise;
    },
    unwrap: () => Promise.reject(new Error('not used')),
  };
  const guarded = guardKeyService(service, { now: () => time, onState: fault => states.push(fault) });
  function call() {
    const controller = new AbortController();
    const result = guarded.wrap('kms', new Uint8Array(32), 'context', { signal: controller.signal }).then(
      ({ result: answer }) => answer,
      (error: unknown) => (error instanceof KeyServiceError ? error.fault : error),
    );
    return { result, abort: () => controller.abort() };
  }
  return { asked, states, call, pass: (ms: number) => (time += ms) };
}
const turn = () => new Promise(resolve => setImmediate(resolve));
const wrapped = { result: 'wrapped', wrapped: new Uint8Array(40) } as const;

describe('S122: a slow key service', () => {
  it('gets 16 requests at a time, then the queued ones in order, and no more than 256 of them', async () => {
    const { asked, call } = world();
    const calls = Array.from({ length: 16 + 256 }, call);
    await turn();
    expect(asked).toHaveLength(16);
    expect(await Promise.race([call().result, turn()])).toBe('overloaded');
    asked[0]?.resolve(wrapped);
    expect(await calls[0]?.result).toBe('wrapped');
    await turn();
    expect(asked).toHaveLength(17);
    for (let at = 0; at < calls.length; at += 1) {
      await turn();
      asked[at]?.resolve(wrapped);
    }
    expect(await Promise.all(calls.map(({ result }) => result))).toEqual(calls.map(() => 'wrapped'));
  });

  it('frees the places of calls that no longer wait, in the queue and at the service', async () => {
    const { asked, call } = world();
    const calls = Array.from({ length: 20 }, call);
    await turn();
    for (const { abort } of calls.slice(1)) abort();
    expect(await Promise.all(calls.slice(1).map(({ result }) => result))).toEqual(Array(19).fill('timeout'));
    // A service that ignores the signal keeps no place.
    const later = call();
    await turn();
    expect(asked).toHaveLength(16);
    expect(await later.result).toBe('paused');
  });

  it('gets no request for a while after five timeouts in a row, then one, and all again after it responds', async () => {
    const { asked, call, pass, states } = world();
    for (let at = 0; at < 5; at += 1) {
      const { result, abort } = call();
      await turn();
      abort();
      expect(await result).toBe('timeout');
    }
    expect(await call().result).toBe('paused');
    expect(asked).toHaveLength(5);
    pass(10_000);
    const [probe, other] = [call(), call()];
    await turn();
    expect(asked).toHaveLength(6);
    expect(await other.result).toBe('paused');
    asked[5]?.resolve(wrapped);
    expect(await probe.result).toBe('wrapped');
    const next = call();
    await turn();
    asked[6]?.resolve(wrapped);
    expect(await next.result).toBe('wrapped');
    expect(states).toEqual(['timeout', undefined]);
  });

  it('reports each change of its state once, and a missing key as a fault', async () => {
    const { asked, call, states } = world();
    const answers = [
      (answer: PromiseWithResolvers<WrapResult>) => answer.resolve(wrapped),
      (answer: PromiseWithResolvers<WrapResult>) => answer.reject(new KeyServiceError('sealed')),
      (answer: PromiseWithResolvers<WrapResult>) => answer.reject(new KeyServiceError('sealed')),
      (answer: PromiseWithResolvers<WrapResult>) => answer.reject(new Error('canary')),
      (answer: PromiseWithResolvers<WrapResult>) => answer.resolve({ result: 'unknown_key' }),
      (answer: PromiseWithResolvers<WrapResult>) => answer.resolve(wrapped),
    ];
    for (const [at, settle] of answers.entries()) {
      const { result } = call();
      await turn();
      const answer = asked[at];
      if (answer === undefined) throw new Error('no request');
      settle(answer);
      await result;
    }
    expect(states).toEqual(['sealed', 'failed', 'key_unusable', undefined]);
  });

  it('is asked once more after a connection that ended without a response, and no more', async () => {
    const { asked, call, states } = world();
    const { result } = call();
    await turn();
    asked[0]?.reject(new KeyServiceError('unreachable'));
    await turn();
    asked[1]?.resolve(wrapped);
    expect(await result).toBe('wrapped');
    expect(states).toEqual([]);

    const { result: lost } = call();
    for (const at of [2, 3]) {
      await turn();
      asked[at]?.reject(new KeyServiceError('unreachable'));
    }
    expect(await lost).toBe('unreachable');
    expect(asked).toHaveLength(4);
    expect(states).toEqual(['unreachable']);
  });
});
