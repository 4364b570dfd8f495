import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import type { CommandObserver } from './commands.ts';
import { type CommandName, commandKeys, methodOf } from './commands.ts';
import type { Confirmation } from './confirmation.ts';
import { type ConfirmationRule, type ConfirmedCall, confirmedCalls, confirmedCommands } from './confirmed-commands.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';

/** Holds commands back from a Redis that has lost data, or may have. The loss watch sets it; the link obeys it. */
export interface StoreGuard {
  /** While it is set, commands wait for it: a check is running. Never rejects. */
  held: Promise<void> | undefined;
  /** If true, every command is refused. */
  isLost: boolean;
}

export type Scalar = string | number;

export interface RunOptions {
  /** An operation id (or similar) makes the script idempotent, so the link repeats it once after a lost reply. */
  readonly repeatable?: boolean;
}

type Method = (...values: readonly string[]) => Promise<unknown>;

/** Poll interval of a repeat that waits for a reconnect. */
const POLL_MS = 25;
/** Each pending command holds some kilobytes until its timeout. */
const MAX_PENDING = 20_000;

/**
 * The only path from the stores to Redis. It checks that every value is a scalar (ioredis flattens arrays and objects into extra
 * arguments), and converts every failure to a StoreUnavailableError without the arguments of the command.
 */
export class RedisLink {
  readonly #redis: Redis | Cluster;
  readonly #clock: (() => number) | undefined;
  readonly #repeatWithinMs: number;
  readonly #observe: CommandObserver | undefined;
  readonly #maxPending: number;
  readonly #confirmation: Confirmation | undefined;
  readonly #guard: StoreGuard | undefined;
  /** Number of pending commands, including repeats. */
  #pending = 0;

  /** @param repeatWithinMs maximum wait of a repeat for a reconnect */
  constructor(
    redis: Redis | Cluster,
    options: {
      now?: (() => number) | undefined;
      repeatWithinMs: number;
      observe?: CommandObserver | undefined;
      /** Maximum number of commands without a reply. Further commands fail immediately. */
      maxPending?: number | undefined;
      /** Set for the profile that waits for replicas. Without it, confirmation costs nothing. */
      confirmation?: Confirmation | undefined;
      /** Set if loss of data is watched. */
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

  /** First argument of every script that uses time. Empty means the clock of Redis. */
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

  /** Runs a script for a check of Redis itself: it is not held, refused, counted or confirmed. */
  async probe(name: CommandName, keys: readonly string[], values: readonly Scalar[]): Promise<unknown> {
    try {
      return await this.#send(this.#redis, name, [...keys, ...values].map(scalar));
    } catch (error) {
      throw storeErrorOf(faultOf(error));
    }
  }

  /** For readers that bypass the link. @throws StoreUnavailableError if data is lost */
  async passGuard(): Promise<void> {
    await this.#guard?.held;
    if (this.#guard?.isLost === true) throw storeErrorOf(new RedisFault('refused', 'data_lost'));
  }

  /** Runs a single Redis command. The first value is the key. */
  call(command: string, ...values: readonly Scalar[]): Promise<unknown> {
    return this.#call(command, values, undefined);
  }

  /** Runs a single command whose reply may need confirmation, depending on its purpose. */
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

  /** Returns the reply, after confirmation if the profile and the rule require it. */
  #answer(
    rule: ConfirmationRule,
    sent: readonly string[],
    send: (redis: Redis | Cluster) => Promise<unknown>,
  ): Promise<unknown> {
    // Both cost nothing unless data may be lost.
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
        // Not executed, because another master has the slot now. The repeat knows which one.
        if (isRepeat || (fault.code !== 'MOVED' && fault.code !== 'no_master')) throw fault;
        await refreshed;
      }
    }
  }

  /** Counts a pending command. @throws StoreUnavailableError */
  #admit(): void {
    if (this.#pending >= this.#maxPending) throw storeErrorOf(new RedisFault('refused', 'too_many_pending'));
    this.#pending += 1;
  }

  /**
   * Sends all commands of one turn of the event loop in one write. Under load, a system call per command costs more than all
   * other work for it. Unlike an ioredis pipeline, this never waits for an earlier reply, and each command keeps its own reply,
   * timeout and fault.
   */
  #gatherWrites(redis: Redis | Cluster): void {
    if (redis instanceof Cluster) return;
    const { stream } = redis;
    // There is no stream before the first connection. A corked stream is uncorked at the end of this turn.
    if (stream === undefined || stream.writableCorked > 0) return;
    stream.cork();
    setImmediate(() => stream.uncork());
  }

  /** Waits, for a limited time, until Redis is connected. */
  async #reconnected(): Promise<void> {
    const attempts = Math.ceil(this.#repeatWithinMs / POLL_MS);
    // A connection that is being closed still looks connected at first.
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
