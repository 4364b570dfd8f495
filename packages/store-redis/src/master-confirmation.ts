import { Redis } from 'ioredis';
import type { CommandObserver } from './commands.ts';
import { reconnectDelay } from './connect-redis.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { keepConnecting, leaveMaster } from './sentinel-watch.ts';

export interface ConfirmationOptions {
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
