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
  /** Of the gateways that are asked, in any order. Default: those that the world has started. */
  readonly addresses?: () => readonly string[];
  /** Flows under way at once. Default 8. */
  readonly concurrency?: number;
  /** Ends by itself after so many flows. Default: none. */
  readonly flows?: number;
  /** Default: all. */
  readonly kinds?: readonly TrafficKind[];
  readonly shares?: Partial<FlowShares>;
  /** How long a caller or a person waits for one answer. Default 15 s. */
  readonly timeoutMs?: number;
  /** The longest pause that a caller makes before a repeat; whoever tells it to come later is given up. Default 2 s. */
  readonly patienceMs?: number;
  /** Repeats of a caller, and reloads of a person. Default 30. */
  readonly attempts?: number;
  /** Default 60; 10 lets those who walk away leave ends by time. */
  readonly ttlSeconds?: number;
  /** Whether a listener per MCP server is connected. Default true. */
  readonly listens?: boolean;
}

/** What goes on at a deployment while something breaks. */
export interface Traffic {
  readonly caller: (mcpServerId: string) => Caller;
  readonly person: (n: number) => Person;
  readonly listeners: ReadonlyMap<string, Listening>;
  /** Flows that have ended, in whatever way. */
  readonly ended: number;
  /** Flows that were seen to complete. */
  readonly completed: number;
  /** Resolves when so many more flows than now have ended. @throws when they hang, and when the traffic itself broke */
  more(flows: number): Promise<void>;
  /** Begins nothing more; resolves when what was under way is over. @throws when the traffic itself broke */
  stop(): Promise<void>;
  /**
   * Stops, waits until all gateways are ready and everything that was acknowledged has ended and been announced (or the bound is
   * over, which the checker then tells), and writes down how each replica reads each elicitation.
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
  if (people.length < concurrency + 1) throw new TypeError('more flows at once than there are people');
  const listeners = new Map<string, Listening>();
  if (options.listens ?? true)
    for (const mcpServerId of world.mcpServerIds)
      listeners.set(mcpServerId, run.stack.use(await startListening(run, { mcpServerId, addresses })));

  const choices = run.random.fork('traffic');
  // The last one is in nobody's way, and opens links that are not meant for them.
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
    if (failures.length > 0) throw new AggregateError(failures, `the traffic broke: ${String(failures[0])}`);
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
      if (isLate) throw new Error(`${ended} flows in time, and ${goal} were to be`);
    },
    stop,
    async settle(settling = {}) {
      await stop();
      run.measure('flows', ended, '');
      await settleHistory(run, { world, addresses, callers: [...callers.values()], listeners }, settling);
    },
  };
}
