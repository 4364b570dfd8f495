import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { GateContext } from '../ask/verbs.ts';
import { accountWorld } from '../testing/account-world.ts';
import { terms } from '../testing/scripts.ts';
import { AskLog, newCall, newRecord } from './ask-log.ts';
import { forHearer, runPosternHandler } from './handler.ts';

/** A handler that does not catch errors of the gate. The world has asked once before, for the account. */
async function payWorld(after: (gate: GateContext) => Promise<unknown>) {
  const world = await accountWorld();
  const run = () =>
    world
      .run(async gate => {
        const payment = await gate.try.pay(terms);
        if (payment.action === 'accept') await after(gate);
        return payment.action === 'accept' ? payment.receipt : payment.reason;
      })
      .then(
        outcome => (outcome.type === 'result' ? outcome.result : outcome.type),
        (error: unknown) => (error instanceof Error && 'code' in error ? error.code : 'thrown'),
      );
  return { ...world, pay: run, asked: () => world.gateway.elicitations.length - 1 };
}

test('a repeated call continues where the failed call stopped', async () => {
  await using world = await payWorld(gate => gate.try.authorize('unknown'));
  expect(await world.pay()).toBe('plain');
  world.gateway.end('completed');
  expect(await world.pay()).toBe('unknown_provider');
  expect(await world.pay()).toBe('unknown_provider');
  expect(world.asked()).toBe(1);
  expect(new Set(world.gateway.results.redemptions.map(({ key }) => key)).size).toBe(1);
});

test('S219: a repeated call does not pay again after its handler failed, until a result has used the payment up', async () => {
  let isClosed = true;
  await using world = await payWorld(() =>
    isClosed ? Promise.reject(new Error('the shop is closed')) : Promise.resolve(),
  );
  await world.pay();
  world.gateway.end('completed');
  expect([await world.pay(), await world.pay()]).toEqual(['thrown', 'thrown']);
  isClosed = false;
  expect(await world.pay()).toBe('receipt-of-el-2');
  expect(world.asked()).toBe(1);
  expect(await world.pay()).toBe('plain');
  expect(world.asked()).toBe(2);
});

test('the next call waits again for an ask that reached its timeout', async () => {
  await using world = await payWorld(gate => gate.try.confirm('Send it', { answerWithinMs: 0 }));
  await world.pay();
  world.gateway.end('completed');
  expect(await world.pay()).toBe('plain');
  expect(await world.pay()).toBe('elicitation_timeout');
  expect(await world.pay()).toBe('plain');
  expect(world.asked()).toBe(2);
  world.gateway.end('completed');
  expect(await world.pay()).toBe('receipt-of-el-2');
});

/** What compilers for older targets make of `async` and `await`. */
const compiled = (heard: () => Promise<void>) => new Promise<void>((done, failed) => void heard().then(done, failed));

test.each<[boolean, string, (heard: () => Promise<void>) => unknown]>([
  [true, 'await', async heard => await heard()],
  [true, 'return', heard => heard()],
  [true, 'then', heard => heard().then(() => 1)],
  [true, 'finally', async heard => await heard().finally(() => 1)],
  [true, 'Promise.all', heard => Promise.all([heard(), heard()])],
  [true, 'Promise.allSettled', heard => Promise.allSettled([heard()])],
  [true, 'a function of its own', async heard => await (async () => await Promise.all([1].map(() => heard())))()],
  [true, 'another promise', heard => new Promise(resolve => resolve(heard()))],
  [true, 'a compiled await', async heard => await compiled(heard)],
  [
    true,
    'a second reaction',
    async heard => {
      const promise = heard();
      promise.catch(() => undefined);
      await promise;
    },
  ],
  [false, 'forEach', async heard => [1].forEach(async () => await heard())],
  [false, 'void', async heard => void heard()],
])('S220: whether a handler hears an error at once: %s, %s', async (expected, _name, handler) => {
  const ended = Promise.withResolvers<void>();
  const handlerState = { hasEnded: false, ended };
  const asks: Promise<void>[] = [];
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await setImmediate();
  };
  const heard = () => {
    const ask = forHearer<void>(handlerState, async () => {
      await setImmediate();
      throw new Error('declined');
    });
    asks.push(ask);
    return ask;
  };
  const running = runPosternHandler(() => handler(heard)).catch(() => undefined);
  await turns(20);
  // Reading the state of a promise is no reaction that it could see.
  expect(asks.map(ask => /<pending>/.test(inspect(ask)))).toEqual(asks.map(() => !expected));
  handlerState.hasEnded = true;
  ended.resolve();
  await running;
  await turns(20);
});

test('S220: nothing of a call stays in memory that waits for an answer in vain', async () => {
  await using world = await accountWorld({ holdMs: 0, onBackgroundError: () => undefined });
  const kept: WeakRef<object>[] = [];
  for (let count = 0; count < 5; count += 1) {
    const large = { text: 'x'.repeat(1_000) };
    kept.push(new WeakRef(large));
    await world.runModern(gate => Promise.all([1, 2].map(n => gate.confirm(`${large.text.slice(0, 9)} ${n}`))));
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const left = () => kept.filter(each => each.deref() !== undefined).length;
  // The last call may still be on the stack. A collection takes a second in a worker that has run many files.
  for (let turn = 0; turn < 20 && left() > 1; turn += 1) {
    await setImmediate();
    collect();
    await setImmediate();
  }
  expect(left()).toBeLessThanOrEqual(1);
});

test('S220: an ask ends as before where the stack cannot be read', async () => {
  await using world = await payWorld(async () => {});
  const { prepareStackTrace } = Error;
  const fail = () => {
    throw new Error('mine');
  };
  Object.defineProperty(Error, 'prepareStackTrace', { configurable: true, get: () => prepareStackTrace, set: fail });
  try {
    expect(await world.pay()).toBe('plain');
  } finally {
    Object.defineProperty(Error, 'prepareStackTrace', { configurable: true, writable: true, value: prepareStackTrace });
  }
});

test('refuses more asks than a call can carry', () => {
  const steps = new AskLog(newCall(0), false);
  const step = (key: string) => newRecord({ key, place: 0, kind: 'form', terms: {}, askedAt: 0, expiresAt: 0 });
  for (let count = 0; count < 32; count += 1) steps.set(step(`q-${count}`));
  steps.set(step('q-1'));
  expect(() => steps.set(step('q-32'))).toThrow(expect.objectContaining({ code: 'too_many_steps' }));
});
