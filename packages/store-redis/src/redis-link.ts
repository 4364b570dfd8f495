import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { type CommandName, commandKeys, methodOf } from './commands.ts';
import type { Confirmation } from './confirmation.ts';
import { type ConfirmationRule, type ConfirmedCall, confirmedCalls, confirmedCommands } from './confirmed-commands.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';
import type { StoreGuard } from './store-guard.ts';

export type Scalar = string | number;

export interface RunOptions {
  /** The script is guarded by an operation id (or the like): after a lost answer it is sent once more. */
  readonly repeatable?: boolean;
}

/**
 * Told of every command as it is sent, by the name of the script or of the command, never with its arguments. What it returns
 * is called when the command is over; with the fault where it failed. A repeat after a lost answer belongs to the same command.
 */
export type CommandObserver = (name: string) => (fault?: RedisFault) => void;

type Method = (...values: readonly string[]) => Promise<unknown>;

/** How often a broken connection is looked at while a repeat waits for it. */
const POLL_MS = 25;
/** Each holds some kilobytes until its time is over. */
const MAX_PENDING = 20_000;

/**
 * The only way from the stores to Redis. Every value is checked to be a scalar (ioredis flattens arrays and objects into
 * extra arguments), and every failure leaves as a StoreUnavailableError without the arguments of the command.
 */
export class RedisLink {
  readonly #redis: Redis | Cluster;
  readonly #clock: (() => number) | undefined;
  readonly #repeatWithinMs: number;
  readonly #observe: CommandObserver | undefined;
  readonly #maxPending: number;
  readonly #confirmation: Confirmation | undefined;
  readonly #guard: StoreGuard | undefined;
  /** Commands under way, their repeats included. */
  #pending = 0;

  /** @param repeatWithinMs how long a repeat waits for the connection to come back. */
  constructor(
    redis: Redis | Cluster,
    options: {
      now?: (() => number) | undefined;
      repeatWithinMs: number;
      observe?: CommandObserver | undefined;
      /** Commands that Redis may owe an answer. What comes on top fails at once. */
      maxPending?: number | undefined;
      /** Of the profile that waits for replicas. Without it nothing is, and none of this costs anything. */
      confirmation?: Confirmation | undefined;
      /** Where loss of data is watched. */
      guard?: StoreGuard | undefined;
    },
  ) {
    this.#redis = redis;
    this.#clock = options.now;
    this.#repeatWithinMs = options.repeatWithinMs;
    this.#observe = options.observe;
    this.#maxPending = options.maxPending ?? MAX_PENDING;
    this.#confirmation = options.confirmation;
    this.#guard = options.guard;
  }

  /** First argument of every script that has to do with time: empty means the clock of Redis. */
  clock(): Scalar {
    return this.#clock?.() ?? '';
  }

  async run(
    name: CommandName,
    keys: readonly string[],
    values: readonly Scalar[],
    options: RunOptions = {},
  ): Promise<unknown> {
    if (keys.length !== commandKeys[name]) throw new TypeError(`${name} declares ${commandKeys[name]} keys.`);
    const sent = [...keys, ...values].map(scalar);
    this.#admit();
    try {
      return await this.#runAdmitted(name, sent, options);
    } finally {
      this.#pending -= 1;
    }
  }

  async #runAdmitted(name: CommandName, sent: readonly string[], options: RunOptions): Promise<unknown> {
    const over = this.#observe?.(name);
    for (let isRepeat = false; ; isRepeat = true) {
      try {
        const answer = await this.#answer(confirmedCommands[name], sent, redis => this.#send(redis, name, sent));
        over?.();
        return answer;
      } catch (error) {
        const fault = faultOf(error);
        if (isRepeat || options.repeatable !== true || fault.kind !== 'ambiguous') {
          over?.(fault);
          throw storeErrorOf(fault);
        }
      }
      await this.#reconnected();
    }
  }

  /** Runs a script beside everything else: not held, not refused, not counted and not confirmed. For looks at Redis itself. */
  async probe(name: CommandName, keys: readonly string[], values: readonly Scalar[]): Promise<unknown> {
    try {
      return await this.#send(this.#redis, name, [...keys, ...values].map(scalar));
    } catch (error) {
      throw storeErrorOf(faultOf(error));
    }
  }

  /** For readers that reach Redis without the link. @throws StoreUnavailableError where data is lost */
  async passGuard(): Promise<void> {
    await this.#guard?.held;
    if (this.#guard?.isLost === true) throw storeErrorOf(new RedisFault('refused', 'data_lost'));
  }

  /** A single Redis command, where one is enough. The key comes first. */
  call(command: string, ...values: readonly Scalar[]): Promise<unknown> {
    return this.#call(command, values, undefined);
  }

  /** One whose answer may have to be confirmed, by what it is for. */
  callFor(purpose: ConfirmedCall, command: string, ...values: readonly Scalar[]): Promise<unknown> {
    return this.#call(command, values, purpose);
  }

  async #call(command: string, values: readonly Scalar[], purpose: ConfirmedCall | undefined): Promise<unknown> {
    const sent = values.map(scalar);
    this.#admit();
    const over = this.#observe?.(command);
    try {
      const rule = purpose === undefined ? 'never' : confirmedCalls[purpose];
      const answer = await this.#answer(rule, sent, redis => this.#sendCall(redis, command, sent));
      over?.();
      return answer;
    } catch (error) {
      const fault = faultOf(error);
      over?.(fault);
      throw storeErrorOf(fault);
    } finally {
      this.#pending -= 1;
    }
  }

  #send(redis: Redis | Cluster, name: CommandName, sent: readonly string[]): Promise<unknown> {
    this.#gatherWrites(redis);
    return (Reflect.get(redis, methodOf(name)) as Method).call(redis, ...sent);
  }

  #sendCall(redis: Redis | Cluster, command: string, sent: readonly string[]): Promise<unknown> {
    this.#gatherWrites(redis);
    return redis.call(command, ...sent);
  }

  /** What comes back, once it is confirmed where the profile and the rule want it. */
  #answer(
    rule: ConfirmationRule,
    sent: readonly string[],
    send: (redis: Redis | Cluster) => Promise<unknown>,
  ): Promise<unknown> {
    // Both cost nothing as long as all is well.
    const held = this.#guard?.held;
    if (held !== undefined) return held.then(() => this.#answer(rule, sent, send));
    if (this.#guard?.isLost === true) return Promise.reject(new RedisFault('refused', 'data_lost'));
    return this.#confirmation === undefined ? send(this.#redis) : this.#confirmed(this.#confirmation, rule, sent, send);
  }

  async #confirmed(
    confirmation: Confirmation,
    rule: ConfirmationRule,
    [key = '']: readonly string[],
    send: (master: Redis) => Promise<unknown>,
  ): Promise<unknown> {
    for (let isRepeat = false; ; isRepeat = true) {
      try {
        const sending = confirmation.prepare(key);
        const answer = await send(sending.master);
        await confirmation.rules.apply(rule, key, answer, sending.confirm);
        return answer;
      } catch (error) {
        const fault = faultOf(error);
        if (fault.kind === 'misuse') throw fault;
        const refreshed = confirmation.refresh();
        // Not executed, because another master has the slot by now; which one, the repeat knows.
        if (isRepeat || (fault.code !== 'MOVED' && fault.code !== 'no_master')) throw fault;
        await refreshed;
      }
    }
  }

  /** Counts a command in. @throws StoreUnavailableError */
  #admit(): void {
    if (this.#pending >= this.#maxPending) throw storeErrorOf(new RedisFault('refused', 'too_many_pending'));
    this.#pending += 1;
  }

  /**
   * What is sent in one turn of the event loop leaves in one write: under load, a system call for each command costs more
   * than everything else that is done for it. Unlike ioredis' pipelines this holds nothing back until an earlier answer
   * has come, and leaves every command its own answer, time limit and fault.
   */
  #gatherWrites(redis: Redis | Cluster): void {
    if (redis instanceof Cluster) return;
    const { stream } = redis;
    // No stream before the first connection; one that is corked already is uncorked at the end of this turn.
    if (stream === undefined || stream.writableCorked > 0) return;
    stream.cork();
    setImmediate(() => stream.uncork());
  }

  /** Waits, within bounds, until commands have somewhere to go. */
  async #reconnected(): Promise<void> {
    const attempts = Math.ceil(this.#repeatWithinMs / POLL_MS);
    // One that is being left still looks connected at first.
    for (let attempt = 0; attempt < attempts && (attempt === 0 || !isConnected(this.#redis)); attempt += 1)
      await delay(POLL_MS);
  }
}

function isConnected(redis: Redis | Cluster): boolean {
  if (redis.status !== 'ready') return false;
  return !(redis instanceof Cluster) || redis.nodes('master').every(node => node.status === 'ready');
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw new TypeError('Only strings and whole numbers are sent to Redis.');
}
