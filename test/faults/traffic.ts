import { setTimeout as delay } from 'node:timers/promises';
import { createCondition } from '../support/condition.ts';
import type { FaultWorld } from './fault-world.ts';
import { HANG_MS } from './hang.ts';
import type { FaultRun } from './scenario.ts';
import { type TrafficKind, trafficKinds } from './traffic/asks.ts';
import { type Caller, createCaller } from './traffic/caller.ts';
import { type FlowShares, runFlow, usualShares } from './traffic/flow.ts';
import { type Listening, startListening } from './traffic/listening.ts';
import { createPerson, type Person } from './traffic/person.ts';
import { type SettleOptions, settleHistory } from './traffic/settle.ts';

export interface TrafficOptions {
  readonly world: FaultWorld;
  /** Addresses of the gateways, in any order. Default: all gateways of the world. */
  readonly addresses?: () => readonly string[];
  /** Concurrent flows. Default 8. */
  readonly concurrency?: number;
  /** Stops after this many flows. Default: no limit. */
  readonly flows?: number;
  /** Default: all. */
  readonly kinds?: readonly TrafficKind[];
  readonly shares?: Partial<FlowShares>;
  /** How long a caller or user waits for one response. Default 15 s. */
  readonly timeoutMs?: number;
  /** Maximum pause of a caller before a retry. A longer Retry-After makes it give up. Default 2 s. */
  readonly patienceMs?: number;
  /** Maximum retries of a caller and reloads of a user. Default 30. */
  readonly attempts?: number;
  /** Default 60. With 10, abandoned elicitations expire during the run. */
  readonly ttlSeconds?: number;
  /** Whether each MCP server has a connected listener. Default true. */
  readonly listens?: boolean;
}

/** Simulated users and MCP servers at a deployment. */
export interface Traffic {
  readonly caller: (mcpServerId: string) => Caller;
  readonly person: (n: number) => Person;
  readonly listeners: ReadonlyMap<string, Listening>;
  /** Flows that have ended, with any result. */
  readonly ended: number;
  /** Flows that were observed to complete. */
  readonly completed: number;
  /** Resolves when this many more flows have ended. @throws if they hang or if the traffic itself fails */
  more(flows: number): Promise<void>;
  /** Starts no more flows and resolves when all started ones have ended. @throws if the traffic itself fails */
  stop(): Promise<void>;
  /**
   * Stops, waits until all gateways are ready and every acknowledged elicitation has ended and is announced, and records how each
   * replica reads each elicitation. After its limit it stops waiting, and the checker reports what is missing.
   */
  settle(options?: SettleOptions): Promise<void>;
}

export async function startTraffic(run: FaultRun, options: TrafficOptions): Promise<Traffic> {
  const { world, concurrency = 8, kinds = trafficKinds, ttlSeconds = 60, attempts = 30 } = options;
  const addresses = options.addresses ?? (() => world.gateways.map(({ address }) => address));
  const { timeoutMs = 15_000, patienceMs = 2_000 } = options;
  const shares = { ...usualShares, ...options.shares };
  const callers = new Map(
    world.mcpServerIds.map(mcpServerId => [
      mcpServerId,
      createCaller(run, { mcpServerId, addresses, timeoutMs, patienceMs, attempts }),
    ]),
  );
  const caller = (mcpServerId: string): Caller => {
    const found = callers.get(mcpServerId);
    if (found === undefined) throw new TypeError(`no such MCP server: ${mcpServerId}`);
    return found;
  };
  const people = world.people.map(sub => createPerson(run, { world, sub, addresses, timeoutMs, reloads: attempts }));
  const person = (n: number): Person => {
    const found = people[n];
    if (found === undefined) throw new TypeError(`there are ${people.length} people`);
    return found;
  };
  if (people.length < concurrency + 1) throw new TypeError('more concurrent flows than people');
  const listeners = new Map<string, Listening>();
  if (options.listens ?? true)
    for (const mcpServerId of world.mcpServerIds)
      listeners.set(mcpServerId, run.stack.use(await startListening(run, { mcpServerId, addresses })));

  const choices = run.random.fork('traffic');
  // The last person takes part in no other flow and opens links of other people.
  const free = people.slice(0, -1);
  const passerBy = people.at(-1) as Person;
  const failures: unknown[] = [];
  let isStopping = false;
  let begun = 0;
  let ended = 0;
  let completed = 0;
  const changed = createCondition();

  async function work(): Promise<void> {
    while (!isStopping && failures.length === 0 && begun < (options.flows ?? Number.POSITIVE_INFINITY)) {
      begun += 1;
      const name = `flow ${begun}`;
      const own = free.splice(choices.below(free.length), 1)[0] as Person;
      const [mine, other] = choices.chance(0.7) ? world.mcpServerIds : world.mcpServerIds.toReversed();
      const kind = choices.pick(kinds);
      try {
        const parts = { run, world, person: own, passerBy, kind, name, ttlSeconds, shares };
        const end = await runFlow({ ...parts, caller: caller(mine ?? ''), stranger: caller(other ?? '') });
        if (end.status === 'completed') completed += 1;
      } catch (error) {
        failures.push(error);
      }
      free.push(own);
      ended += 1;
      changed.notify();
    }
  }
  const workers = Array.from({ length: concurrency }, work);
  const over = Promise.all(workers);

  const assertSound = () => {
    if (failures.length > 0) throw new AggregateError(failures, `the traffic failed: ${String(failures[0])}`);
  };
  async function stop(): Promise<void> {
    isStopping = true;
    await over;
    assertSound();
  }
  run.stack.defer(async () => {
    isStopping = true;
    await over;
  });
  return {
    caller,
    person,
    listeners,
    get ended() {
      return ended;
    },
    get completed() {
      return completed;
    },
    async more(flows) {
      const goal = ended + flows;
      const met = changed.until(() => ended >= goal || failures.length > 0);
      const bound = new AbortController();
      const late = delay(HANG_MS, true, { signal: bound.signal }).catch(() => false);
      const isLate = await Promise.race([met.then(() => false), late, over.then(() => false)]);
      bound.abort();
      assertSound();
      if (isLate) throw new Error(`${ended} flows in time instead of ${goal}`);
    },
    stop,
    async settle(settling = {}) {
      await stop();
      run.measure('flows', ended, '');
      await settleHistory(run, { world, addresses, callers: [...callers.values()], listeners }, settling);
    },
  };
}
