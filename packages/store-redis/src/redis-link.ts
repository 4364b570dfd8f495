import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { type CommandName, commandKeys, methodOf } from './commands.ts';
import { faultOf, storeErrorOf } from './redis-fault.ts';

export type Scalar = string | number;

export interface RunOptions {
  /** The script is guarded by an operation id (or the like): after a lost answer it is sent once more. */
  readonly repeatable?: boolean;
}

type Method = (...values: readonly string[]) => Promise<unknown>;

/** How often a broken connection is looked at while a repeat waits for it. */
const POLL_MS = 25;

/**
 * The only way from the stores to Redis. Every value is checked to be a scalar (ioredis flattens arrays and objects into
 * extra arguments), and every failure leaves as a StoreUnavailableError without the arguments of the command.
 */
export class RedisLink {
  readonly #redis: Redis | Cluster;
  readonly #clock: (() => number) | undefined;
  readonly #repeatWithinMs: number;

  /** @param repeatWithinMs how long a repeat waits for the connection to come back. */
  constructor(redis: Redis | Cluster, options: { now?: (() => number) | undefined; repeatWithinMs: number }) {
    this.#redis = redis;
    this.#clock = options.now;
    this.#repeatWithinMs = options.repeatWithinMs;
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
    const method = Reflect.get(this.#redis, methodOf(name)) as Method;
    this.#gatherWrites();
    try {
      return await method.apply(this.#redis, sent);
    } catch (error) {
      const fault = faultOf(error);
      if (options.repeatable !== true || fault.kind !== 'ambiguous') throw storeErrorOf(fault);
    }
    await this.#reconnected();
    try {
      return await method.apply(this.#redis, sent);
    } catch (error) {
      throw storeErrorOf(faultOf(error));
    }
  }

  /** A single Redis command, where one is enough. The key comes first. */
  async call(command: string, ...values: readonly Scalar[]): Promise<unknown> {
    const sent = values.map(scalar);
    this.#gatherWrites();
    try {
      return await this.#redis.call(command, ...sent);
    } catch (error) {
      throw storeErrorOf(faultOf(error));
    }
  }

  /**
   * What is sent in one turn of the event loop leaves in one write: under load, a system call for each command costs more
   * than everything else that is done for it. Unlike ioredis' pipelines this holds nothing back until an earlier answer
   * has come, and leaves every command its own answer, time limit and fault.
   */
  #gatherWrites(): void {
    if (this.#redis instanceof Cluster) return;
    const { stream } = this.#redis;
    // No stream before the first connection; one that is corked already is uncorked at the end of this turn.
    if (stream === undefined || stream.writableCorked > 0) return;
    stream.cork();
    setImmediate(() => stream.uncork());
  }

  /** Waits, within bounds, until commands have somewhere to go. */
  async #reconnected(): Promise<void> {
    const attempts = Math.ceil(this.#repeatWithinMs / POLL_MS);
    for (let attempt = 0; attempt < attempts && !isConnected(this.#redis); attempt += 1) await delay(POLL_MS);
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
