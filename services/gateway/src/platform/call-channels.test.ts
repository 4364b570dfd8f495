import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CallChannel, createChannels } from './call-channels.ts';

interface Call {
  readonly of: string;
}

const uncaught = vi.fn();
beforeEach(() => void process.on('uncaughtException', uncaught));
afterEach(() => {
  process.off('uncaughtException', uncaught);
  expect(uncaught).not.toHaveBeenCalled();
});

describe('a channel of calls', () => {
  it('tells its subscribers how each call began and ended, before the caller goes on', async () => {
    const steps: unknown[] = [];
    using calls = new CallChannel<Call>('calls', error => expect.fail(String(error)));
    calls.subscribe({
      begin: ({ of }) => steps.push(`begin ${of}`),
      end: ({ of }, { result, error, ms }) => steps.push([of, result, error, ms >= 0]),
      fail: ({ of }) => steps.push(`fail ${of}`),
    });
    expect(await calls.trace({ of: 'a' }, async () => 7)).toBe(7);
    steps.push('after a');
    const error = new Error('refused');
    await expect(calls.trace({ of: 'b' }, async () => Promise.reject(error))).rejects.toBe(error);
    calls.open({ of: 'c' })();
    calls.open({ of: 'd' })(error);
    const throwing = () => {
      throw error;
    };
    await expect(calls.trace({ of: 'e' }, throwing)).rejects.toBe(error);
    expect(steps).toEqual([
      ...['begin a', ['a', 7, undefined, true], 'after a'],
      ...['begin b', 'fail b', ['b', undefined, error, true]],
      ...['begin c', ['c', undefined, undefined, true]],
      ...['begin d', 'fail d', ['d', undefined, error, true]],
      ...['begin e', 'fail e', ['e', undefined, error, true]],
    ]);
  });

  it('changes no call by what a subscriber throws, and reports it once', async () => {
    const logger = { error: vi.fn() };
    using channels = createChannels(logger);
    const { outbound } = channels;
    const call = { target: 'provider', method: 'GET', host: 'as.example', hostname: 'as.example' } as const;
    const fault = new Error('broken');
    const seen: unknown[] = [];
    const fail = () => {
      throw fault;
    };
    outbound.subscribe({ begin: fail, end: fail, fail });
    outbound.bindStore(new AsyncLocalStorage(), fail);
    outbound.subscribe({ end: (_call, { result }) => seen.push(result) });
    const answers = [200, 201, 202].map(status => new Response(null, { status }));
    for (const answer of answers) expect(await outbound.trace(call, async () => answer)).toBe(answer);
    outbound.open(call)();
    await expect(outbound.trace(call, async () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    await delay(1);
    expect(seen).toEqual([...answers, undefined, undefined]);
    const line = { event: 'observer.failed', channel: 'postern:outbound', error: fault };
    // One line for each of the two subscribers that fail.
    expect(logger.error.mock.calls.map(([fields]) => fields)).toEqual([line, line]);
  });

  it('does the work of a call in the store that is bound to it', async () => {
    const storage = new AsyncLocalStorage<string>();
    using calls = new CallChannel<Call>('calls', error => expect.fail(String(error)));
    const ends: unknown[] = [];
    calls.bindStore(storage, ({ of }) => `${storage.getStore()} ${of}`);
    calls.subscribe({ end: () => ends.push(storage.getStore()) });
    const [a, b] = await storage.run('root', () =>
      Promise.all([
        calls.trace({ of: 'a' }, async () => {
          await delay(1);
          return calls.trace({ of: 'inner' }, async () => storage.getStore());
        }),
        calls.trace({ of: 'b' }, async () => storage.getStore()),
      ]),
    );
    expect([a, b]).toEqual(['root a inner', 'root b']);
    expect(new Set(ends)).toEqual(new Set(['root a inner', 'root a', 'root b']));
    expect(storage.getStore()).toBeUndefined();
  });

  it('belongs to one gateway, and has no subscribers once it is disposed of', async () => {
    const heard: string[] = [];
    const [one, other] = ['one', 'other'].map(name => {
      const calls = new CallChannel<Call>('calls', error => expect.fail(String(error)));
      calls.subscribe({ end: ({ of }) => heard.push(`${name} ${of}`) });
      return calls;
    });
    await one?.trace({ of: 'a' }, async () => undefined);
    one?.[Symbol.dispose]();
    await one?.trace({ of: 'b' }, async () => undefined);
    one?.open({ of: 'c' })();
    await other?.trace({ of: 'd' }, async () => undefined);
    expect(heard).toEqual(['one a', 'other d']);
    other?.[Symbol.dispose]();
  });
});
