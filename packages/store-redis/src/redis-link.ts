import { setTimeout as delay } from 'node:timers/promises';
import type { Shard } from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import { type CommandArgs, type CommandKeys, type CommandName, type CommandObserver, commands } from './commands.ts';
import type { Confirmation } from './confirmation.ts';
import { type ConfirmationRule, type ConfirmedCall, confirmedCalls, confirmedCommands } from './confirmed-commands.ts';
import type { Keys } from './keys.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';
import { listOf, methodOf, type Scalar, scalar, textOf, valuesOf } from './script.ts';

/** Holds commands back from a Redis that has lost data, or may have. The loss watch sets it; the link obeys it. */
export interface StoreGuard {
  /** While it is set, commands wait for it: a check is running. Never rejects. */
  held: Promise<void> | undefined;
  /** If true, every command is refused. */
  isLost: boolean;
}

/** Records the newest event per shard that this process knows to be committed. A Redis without that event was rolled back. */
export class CommittedEvents {
  readonly #newest = new Map<Shard, string>();

  /** @param id as returned by the script that committed it. Replies may arrive out of order. */
  note(shard: Shard, id: string): void {
    const known = this.#newest.get(shard);
    if (known === undefined || isLater(id, known)) this.#newest.set(shard, id);
  }

  snapshot(): ReadonlyMap<Shard, string> {
    return new Map(this.#newest);
  }

  /** Forgets this event, but keeps an event that was committed after the snapshot. */
  forget(shard: Shard, id: string | undefined): void {
    if (this.#newest.get(shard) === id) this.#newest.delete(shard);
  }
}

/** Returns the milliseconds of an event id, `<ms>-<count>`. */
export const timeOf = (id: string) => Number(id.slice(0, id.indexOf('-')));
const countOf = (id: string) => Number(id.slice(id.indexOf('-') + 1));

function isLater(one: string, other: string): boolean {
  return timeOf(one) > timeOf(other) || (timeOf(one) === timeOf(other) && countOf(one) > countOf(other));
}

interface RunOptions {
  /** An operation id (or similar) makes the script idempotent, so the link repeats it after a lost reply. */
  readonly repeatable?: boolean;
}

type Method = (...values: readonly string[]) => Promise<unknown>;

/** Poll interval of a command that waits for a reconnect. */
const POLL_MS = 25;
/** Single commands that change nothing, so that the link repeats them after a lost reply. */
const reads: ReadonlySet<string> = new Set([
  ...['get', 'hget', 'hgetall', 'hlen', 'hmget', 'smembers', 'xrange', 'xrevrange', 'zcard', 'zrange'],
]);
/** Each pending command holds some kilobytes until its timeout. */
const MAX_PENDING = 20_000;

/**
 * The only path from the stores to Redis. It checks that every value is a scalar, and converts every failure to a
 * StoreUnavailableError without the arguments of the command.
 */
export class RedisLink {
  readonly #redis: Redis | Cluster;
  readonly #clock: (() => number) | undefined;
  readonly #patienceMs: number;
  readonly #observe: CommandObserver | undefined;
  readonly #maxPending: number;
  readonly #confirmation: Confirmation | undefined;
  readonly #guard: StoreGuard | undefined;
  /** Number of pending commands, including repeats. */
  #pending = 0;
  /** When a command first missed the connection since the last reply, on a clock that is never set. */
  #missedAt: number | undefined;

  /** @param patienceMs how long commands wait for a lost connection, together: counted from the first that misses it */
  constructor(
    redis: Redis | Cluster,
    options: {
      now?: (() => number) | undefined;
      patienceMs: number;
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
    this.#patienceMs = options.patienceMs;
    this.#observe = options.observe;
    this.#maxPending = options.maxPending ?? MAX_PENDING;
    this.#confirmation = options.confirmation;
    this.#guard = options.guard;
  }

  /** Runs a script with the keys and arguments that `commands` declares. */
  async run<Name extends CommandName>(
    name: Name,
    keys: CommandKeys<Name>,
    args: CommandArgs<Name>,
    options: RunOptions = {},
  ): Promise<unknown> {
    const sent = this.#valuesOf(name, keys, args);
    return this.#patiently(name, options.repeatable === true, () =>
      this.#answer(confirmedCommands[name], sent, redis => this.#send(redis, name, sent)),
    );
  }

  /**
   * Sends a command again that found no connection: Redis has not seen it, so this harms nothing. So does a repeatable command whose
   * reply was lost. A Redis that is silent for a moment (a sync of its file, a long script) thus delays requests and refuses none,
   * neither those that wait for a reply when its connection is closed, nor those that arrive before the next one is up.
   */
  async #patiently(name: string, isRepeatable: boolean, attempt: () => Promise<unknown>): Promise<unknown> {
    this.#admit();
    const over = this.#observe?.(name);
    const repeatsUntil = performance.now() + 2 * this.#patienceMs;
    try {
      for (;;) {
        try {
          const answer = await attempt();
          this.#missedAt = undefined;
          over?.();
          return answer;
        } catch (error) {
          const fault = faultOf(error);
          const isHarmless =
            (fault.kind === 'refused' && fault.code === 'not_connected') ||
            (fault.kind === 'ambiguous' && isRepeatable);
          if (!isHarmless || performance.now() >= repeatsUntil || !(await this.#reconnected())) {
            over?.(fault);
            throw storeErrorOf(fault);
          }
        }
      }
    } finally {
      this.#pending -= 1;
    }
  }

  /** Runs a script for a check of Redis itself: it is not held, refused, counted or confirmed. */
  async probe<Name extends CommandName>(
    name: Name,
    keys: CommandKeys<Name>,
    args: CommandArgs<Name>,
  ): Promise<unknown> {
    try {
      return await this.#send(this.#redis, name, this.#valuesOf(name, keys, args));
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
    const rule = purpose === undefined ? 'never' : confirmedCalls[purpose];
    return this.#patiently(command, reads.has(command), () =>
      this.#answer(rule, sent, redis => this.#sendCall(redis, command, sent)),
    );
  }

  /** Without a clock of its own, a script uses that of Redis. */
  #valuesOf<Name extends CommandName>(name: Name, keys: CommandKeys<Name>, args: CommandArgs<Name>): readonly string[] {
    return valuesOf(commands[name], keys, args, this.#clock?.() ?? '');
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

  /** Waits until Redis is connected. Resolves with false if it has been missed for too long: requests must not pile up. */
  async #reconnected(): Promise<boolean> {
    // A connection that is being closed still looks connected at first.
    await delay(POLL_MS);
    while (!isConnected(this.#redis)) {
      this.#missedAt ??= performance.now();
      if (performance.now() - this.#missedAt >= this.#patienceMs || this.#redis.status === 'end') return false;
      await delay(POLL_MS);
    }
    return true;
  }
}

function isConnected(redis: Redis | Cluster): boolean {
  if (redis.status !== 'ready') return false;
  return !(redis instanceof Cluster) || redis.nodes('master').every(node => node.status === 'ready');
}

/** A port over Redis. */
export abstract class RedisPort<K = Keys> {
  protected readonly link: RedisLink;
  protected readonly keys: K;

  constructor(link: RedisLink, keys: K) {
    this.link = link;
    this.keys = keys;
  }

  /** Runs a script, and repeats it after a lost reply. */
  protected repeatable<Name extends CommandName>(
    name: Name,
    keys: CommandKeys<Name>,
    args: CommandArgs<Name>,
  ): Promise<unknown> {
    return this.link.run(name, keys, args, { repeatable: true });
  }

  /** Runs a script whose repeat would not be harmless. @throws StoreUnavailableError after a lost reply */
  protected once<Name extends CommandName>(
    name: Name,
    keys: CommandKeys<Name>,
    args: CommandArgs<Name>,
  ): Promise<unknown> {
    return this.link.run(name, keys, args);
  }

  /** Reads the records of an index. Omits what is no id, and records that are gone. */
  protected async all<Id, Row>(
    index: unknown,
    parse: (text: string) => Id | undefined,
    read: (id: Id) => Promise<Row | undefined>,
  ): Promise<Row[]> {
    const ids = listOf(index).map(id => parse(textOf(id)));
    const found = await Promise.all(ids.map(id => (id === undefined ? undefined : read(id))));
    return found.filter(row => row !== undefined);
  }
}
