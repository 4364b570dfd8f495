import { Cluster, Command, Redis } from 'ioredis';
import type { CommandObserver } from './commands.ts';
import { ConfirmationRules } from './confirmed-commands.ts';
import { reconnectDelay } from './connect-redis.ts';
import { DEFAULT_CONFIRM_MS, DEFAULT_REPLICAS, type DurabilityOptions, UnsafeRedisError } from './durability.ts';
import { fenceBeside } from './keys.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';
import { keepConnecting, leaveMaster } from './sentinel-watch.ts';

/** The confirmation that a profile requires. Undefined for profiles that do not wait for replicas. */
export function confirmationOf(
  redis: Redis | Cluster,
  durability: DurabilityOptions | undefined,
  options: Pick<ConfirmationOptions, 'commandTimeoutMs' | 'observe'>,
): Confirmation | undefined {
  if (durability?.profile !== 'ha') return undefined;
  const { replicas = DEFAULT_REPLICAS, timeoutMs = DEFAULT_CONFIRM_MS } = durability;
  return new Confirmation(redis, { ...options, replicas, timeoutMs });
}

/** A command about to be sent to a known master. */
interface Sending {
  readonly master: Redis;
  /** Resolves when enough replicas have everything that this master had done by its reply. Call it after the reply. */
  confirm(): Promise<void>;
}

/**
 * Confirms that replicas have the data behind a master's reply (profile `ha`).
 *
 * WAIT covers only the writes of its own connection. It says nothing about a record that another connection wrote, even if that
 * was the first attempt of the same call. So each WAIT follows a write on its own connection, the fence: replication is one
 * stream, so a replica that has the fence has everything before it. The fence must go to the process that sent the reply,
 * identified by its run id. A replica promoted in between would confirm its own fence but might lack the earlier data.
 *
 * For the same reason, commands on a cluster go to the master that the slot map names, without redirection by ioredis.
 */
export class Confirmation {
  readonly #redis: Redis | Cluster;
  readonly #options: ConfirmationOptions;
  readonly #masters = new Map<Redis, MasterConfirmation>();
  readonly #slots = new Map<string, number>();
  readonly rules: ConfirmationRules;

  constructor(redis: Redis | Cluster, options: ConfirmationOptions) {
    this.#redis = redis;
    this.#options = options;
    this.rules = new ConfirmationRules();
  }

  /** @throws RedisFault `no_master` if no connected master is known for the key */
  prepare(key: string): Sending {
    const master = this.#masterOf(key);
    const sent = this.#confirmationOf(master).begin();
    return { master, confirm: () => sent.confirm(fenceBeside(key)) };
  }

  /**
   * Checks that confirmation works on every master that has one of these keys. A replica that has just come back catches up first.
   * @param withinMs for which an unconfirmed probe is repeated
   * @throws UnsafeRedisError, StoreUnavailableError
   */
  async probe(keys: readonly string[], withinMs: number): Promise<void> {
    const until = performance.now() + withinMs;
    for (;;) {
      try {
        const byMaster = new Map(keys.map(key => this.prepare(key)).map(sending => [sending.master, sending]));
        await Promise.all([...byMaster.values()].map(sending => sending.confirm()));
        return;
      } catch (error) {
        const fault = faultOf(error);
        if (fault.kind !== 'unconfirmed') throw storeErrorOf(fault);
        if (performance.now() < until) continue;
      }
      const { replicas, timeoutMs } = this.#options;
      throw new UnsafeRedisError(
        'replicas',
        `Redis did not confirm within ${timeoutMs} ms that ${replicas} replica(s) have a write (durability profile ha). Look ` +
          'after the replicas, or raise durability.timeoutMs.',
      );
    }
  }

  /** Refreshes the slot map after a redirection or a lost master. Does nothing without a cluster. */
  async refresh(): Promise<void> {
    const redis = this.#redis;
    if (!(redis instanceof Cluster) || redis.status !== 'ready') return;
    await new Promise<void>(resolve => redis.refreshSlotsCache(() => resolve()));
    // ioredis does not connect a new node until a command needs it. That command reports an unreachable node.
    const found = redis.nodes('master').filter(({ status }) => status === 'wait');
    await Promise.allSettled(found.map(node => node.connect()));
  }

  /** Leaves the connections to masters after a fail-over. */
  leaveMasters(): void {
    for (const confirmation of this.#masters.values()) confirmation.leave();
  }

  close(): void {
    for (const confirmation of this.#masters.values()) confirmation.close();
    this.#masters.clear();
  }

  #masterOf(key: string): Redis {
    const redis = this.#redis;
    if (!(redis instanceof Cluster)) return redis;
    const name = redis.slots[this.#slotOf(key)]?.[0];
    const master = redis.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === name);
    if (master?.status !== 'ready') throw new RedisFault('refused', 'no_master');
    return master;
  }

  /** Cached by hash tag; there are few. */
  #slotOf(key: string): number {
    const tag = key.slice(0, key.indexOf('}') + 1);
    const known = this.#slots.get(tag);
    if (known !== undefined) return known;
    const slot = new Command('get', [key]).getSlot();
    this.#slots.set(tag, slot);
    return slot;
  }

  #confirmationOf(master: Redis): MasterConfirmation {
    const known = this.#masters.get(master);
    if (known !== undefined) return known;
    const confirmation = new MasterConfirmation(master, this.#options);
    this.#masters.set(master, confirmation);
    // ioredis never reconnects the same object of a cluster node.
    master.once('end', () => {
      confirmation.close();
      this.#masters.delete(master);
    });
    return confirmation;
  }
}

interface ConfirmationOptions {
  readonly replicas: number;
  readonly timeoutMs: number;
  /** The timeout of all commands. */
  readonly commandTimeoutMs: number;
  readonly observe?: CommandObserver | undefined;
}

/** Result of one round: the run id of the process that answered, or the fault. */
type Round = { readonly runId: string } | { readonly fault: RedisFault };

/** Lifetime of the fence. Its value has no meaning. */
const FENCE_LIFETIME_MS = 60_000;

/**
 * Confirms the writes of one master for all callers. One round runs at a time. Callers that arrive meanwhile share the next
 * round, because the running one may not cover their writes.
 *
 * Rounds use a separate connection. WAIT blocks its connection until the replicas answer, for up to `timeoutMs` if a replica is
 * gone, and would delay every other command of this process.
 */
export class MasterConfirmation {
  readonly #master: Redis;
  readonly #peer: Redis;
  readonly #options: ConfirmationOptions;
  readonly #letGo: () => void;
  readonly #runIds = new WeakMap<object, Promise<string>>();
  #current: Promise<Round> | undefined;
  #next: Promise<Round> | undefined;

  constructor(master: Redis, options: ConfirmationOptions) {
    // Uses the default reply mapping; its type does not fit the constructor.
    const { replyMapping: _, ...inherited } = master.options;
    this.#master = master;
    this.#options = options;
    const patienceMs = options.timeoutMs + options.commandTimeoutMs;
    this.#peer = new Redis({
      ...inherited,
      connectionName: `${inherited.connectionName ?? 'postern'}-confirm`,
      enableOfflineQueue: false,
      lazyConnect: true,
      commandTimeout: patienceMs,
      socketTimeout: patienceMs,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: reconnectDelay,
    });
    this.#letGo = keepConnecting(this.#peer);
    // Rounds report failures to their waiters; between rounds there are no waiters.
    this.#peer.on('error', () => undefined);
    this.#peer.connect().catch(() => undefined);
  }

  /** Call this before sending a command. It remembers which process is at the other end of the connection. */
  begin(): { confirm(fence: string): Promise<void> } {
    const { stream } = this.#master;
    const runId = this.#runIdOf(this.#master);
    // `confirm` reports the failure.
    runId.catch(() => undefined);
    return {
      confirm: async fence => {
        const over = this.#options.observe?.('confirm');
        try {
          if (this.#master.stream !== stream) throw new RedisFault('ambiguous', 'master_changed');
          const round = await this.#join(fence);
          if ('fault' in round) throw round.fault;
          if (round.runId !== (await runId)) this.#disagree();
          over?.();
        } catch (error) {
          const fault = asUnconfirmed(faultOf(error));
          over?.(fault);
          throw fault;
        }
      },
    };
  }

  leave(): void {
    leaveMaster(this.#peer);
  }

  close(): void {
    this.#letGo();
    this.#peer.disconnect();
  }

  #join(fence: string): Promise<Round> {
    if (this.#current === undefined) return this.#start(fence);
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      return this.#start(fence);
    });
    return this.#next;
  }

  #start(fence: string): Promise<Round> {
    const round: Promise<Round> = this.#ask(fence)
      .catch((error: unknown) => ({ fault: faultOf(error) }))
      .finally(() => {
        if (this.#current === round) this.#current = undefined;
      });
    this.#current = round;
    return round;
  }

  async #ask(fence: string): Promise<Round> {
    const { replicas, timeoutMs } = this.#options;
    await this.#connected();
    const { stream } = this.#peer;
    const runId = await this.#runIdOf(this.#peer);
    const results = await this.#peer
      .pipeline()
      .set(fence, '', 'PX', FENCE_LIFETIME_MS)
      .wait(replicas, timeoutMs)
      .exec();
    const [fenced, waited] = results ?? [];
    const error = fenced?.[0] ?? waited?.[0];
    if (error) throw error;
    if (this.#peer.stream !== stream) throw new RedisFault('ambiguous', 'master_changed');
    if (Number(waited?.[1]) < replicas) throw new RedisFault('unconfirmed', 'not_replicated');
    return { runId };
  }

  /** Waits for a connection attempt in progress, such as after a fail-over. */
  #connected(): Promise<void> {
    const peer = this.#peer;
    if (peer.status === 'ready') return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => reject(new RedisFault('ambiguous', 'not_connected')),
      this.#options.timeoutMs + this.#options.commandTimeoutMs / 2,
    );
    peer.once('ready', resolve);
    return promise.finally(() => {
      clearTimeout(timer);
      peer.off('ready', resolve);
    });
  }

  /** The two connections lead to different processes, so one of them is stale. Both reconnect. */
  #disagree(): never {
    leaveMaster(this.#peer);
    leaveMaster(this.#master);
    throw new RedisFault('ambiguous', 'master_changed');
  }

  /** A process keeps its run id. Read once per connection, before any other command on it. */
  #runIdOf(redis: Redis): Promise<string> {
    const { stream } = redis;
    if (stream === undefined) return Promise.reject(new RedisFault('refused', 'not_connected'));
    const known = this.#runIds.get(stream);
    if (known !== undefined) return known;
    const asked = redis.info('server').then(info => {
      const runId = /^run_id:(\w+)/m.exec(info)?.[1];
      if (runId === undefined) throw new RedisFault('refused', 'no_run_id');
      return runId;
    });
    this.#runIds.set(stream, asked);
    asked.catch(() => this.#runIds.delete(stream));
    return asked;
  }
}

/** The command itself was executed; only its confirmation failed. */
function asUnconfirmed(fault: RedisFault): RedisFault {
  return fault.kind === 'refused' ? new RedisFault('ambiguous', fault.code) : fault;
}
