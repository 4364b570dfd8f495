import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { type FaultProxy, startFaultProxy } from '@postern/testkit/fault-proxy';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { dumpRedisNow } from '../../../support/redis-dump.ts';
import { runsScript } from '../../crash-points.ts';
import { HANG_MS } from '../../hang.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { type CalledScript, calledScripts } from './called-scripts.ts';
import type { ScriptCase } from './script-case.ts';
import { scriptCases } from './script-cases.ts';

/**
 * Timeout of a command and of the reconnect, in ms. If the connection stays down, all scripts wait for it concurrently. A busy machine
 * must be able to send a command in this time.
 */
const COMMAND_TIMEOUT_MS = 10_000;

/** The environment of one script: its own keys in the shared Redis, and its own proxy. */
interface Trial extends AsyncDisposable {
  readonly direct: RedisStores;
  readonly proxy: FaultProxy;
  readonly behindProxy: RedisStores;
  /** Names of the commands of `behindProxy` that failed. */
  readonly failed: readonly string[];
  /** Everything stored for this script. */
  stored(): Promise<Dump>;
}

async function startTrial(redis: RedisServer, name: CalledScript): Promise<Trial> {
  await using stack = new AsyncDisposableStack();
  const prefix = name.toLowerCase();
  const proxy = stack.use(await startFaultProxy(redis.port, { protocol: 'resp' }));
  const failed: string[] = [];
  const direct = stack.use(await createRedisStores({ url: redis.url, prefix, commandTimeoutMs: HANG_MS }));
  const behindProxy = stack.use(
    await createRedisStores({
      url: `redis://127.0.0.1:${proxy.port}`,
      prefix,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      onCommand: command => fault => void (fault && failed.push(command)),
    }),
  );
  const owned = stack.move();
  return {
    direct,
    proxy,
    behindProxy,
    failed,
    stored: () => dumpRedisNow(redis.url, prefix),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Makes the call once without a fault. @returns the same call for another subject */
async function rehearsed(direct: RedisStores, { prepare, first }: ScriptCase) {
  const rehearsal = await prepare(direct);
  expectAnswer(await rehearsal(direct), first);
  return prepare(direct);
}

/** Only of this script: a call may read by another script first. */
function loseAnswer(proxy: FaultProxy, name: CalledScript, afterwards: () => void): Promise<void> {
  const isScript = runsScript(name);
  return proxy.watch({
    moment: 'answer_arrives',
    matches: ({ words }) => isScript(words),
    act: () => {
      afterwards();
      return 'cut';
    },
  });
}

function expectAnswer(answer: unknown, expected: unknown): void {
  if (typeof expected === 'object' && expected !== null) assert.partialDeepStrictEqual(answer, expected);
  else assert.deepEqual(answer, expected);
}

/** The result of a call, or `unavailable` if the caller gets `store_unavailable`. */
const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => {
    assert.equal((error as { code?: unknown }).code, 'store_unavailable');
    return unavailable;
  });
const unavailable = Symbol('unavailable');

async function withoutStoreRetry(trial: Trial, name: CalledScript): Promise<void> {
  const { direct, proxy, behindProxy, failed } = trial;
  const each = scriptCases[name];
  const call = await rehearsed(direct, each);
  const lost = loseAnswer(proxy, name, () => proxy.down());
  assert.equal(await outcomeOf(call(behindProxy)), unavailable, 'the caller gets store_unavailable');
  await lost;
  assert.deepEqual(failed, [name], 'the lost response is that of the script');
  const once = await trial.stored();
  expectAnswer(await call(direct), 'again' in each ? each.again : each.first);
  const nouns = changedKeys(once, await trial.stored()).map(key => key.split(':')[2]);
  assert.deepEqual(nouns, each.renews ?? [], 'the retry changes no effect of the first call');
}

async function withStoreRetry({ direct, proxy, behindProxy }: Trial, name: CalledScript): Promise<void> {
  const each = scriptCases[name];
  const call = await rehearsed(direct, each);
  const lost = loseAnswer(proxy, name, () => undefined);
  const outcome = await outcomeOf(call(behindProxy));
  await lost;
  if (each.onlyOnce) assert.equal(outcome, unavailable);
  else expectAnswer(outcome, 'resent' in each ? each.resent : each.first);
}

type Dump = Readonly<Record<string, unknown>>;

const changedKeys = (before: Dump, after: Dump): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    key => !isDeepStrictEqual(before[key], after[key]),
  );

async function everyScript(run: FaultRun, play: (trial: Trial, name: CalledScript) => Promise<void>): Promise<void> {
  assert.deepEqual(Object.keys(scriptCases).sort(), [...calledScripts].sort(), 'a script without a case');
  const redis = run.stack.use(await startRedis());
  const failures: Error[] = [];
  await Promise.all(
    calledScripts.map(async name => {
      run.history.record({ who: 'harness', what: 'fault', fault: 'answer_lost', target: name });
      try {
        await using trial = await startTrial(redis, name);
        await play(trial, name);
      } catch (cause) {
        failures.push(new Error(name, { cause }));
      }
    }),
  );
  run.measure('scripts', calledScripts.length, '');
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join(', '));
}

export const answersLost: readonly Scenario[] = [
  {
    item: 'R7',
    name: 'the response of a script is lost and Redis is unavailable: the caller repeats, and the effect happens once',
    run: run => everyScript(run, withoutStoreRetry),
  },
  {
    item: 'R7',
    name: 'the response of a script is lost: the store repeats, and the caller gets the first result',
    run: run => everyScript(run, withStoreRetry),
  },
];
