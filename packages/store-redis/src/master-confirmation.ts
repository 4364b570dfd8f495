import { Redis } from 'ioredis';
import type { ConfirmationOptions } from './confirmation.ts';
import { reconnectDelay } from './connect-redis.ts';
import { keepConnecting } from './keep-connecting.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { leaveMaster } from './sentinel-watch.ts';

/** What one round has found out: which process it spoke to, or why it found nothing out. */
type Round = { readonly runId: string } | { readonly fault: RedisFault };

/** The fence itself means nothing; it only has to be written. */
const FENCE_LIFETIME_MS = 60_000;

/**
 * Confirms what one master has done, for everybody who asks: one round at a time, and those who come meanwhile share the next one,
 * because a round that has begun may have passed what they are about.
 *
 * Rounds have a connection of their own. WAIT blocks its connection until the replicas have answered, and behind it would
 * stand every other command of this process, for as long as `timeoutMs` when a replica is gone.
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
    // The default reply mapping, as everywhere; its type does not fit that of the constructor.
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
    // Whoever waits for a round is told; between rounds there is nobody to tell.
    this.#peer.on('error', () => undefined);
    this.#peer.connect().catch(() => undefined);
  }

  /** To be called before a command is sent: what answers it is the process at the far end of this connection. */
  begin(): { confirm(fence: string): Promise<void> } {
    const { stream } = this.#master;
    const runId = this.#runIdOf(this.#master);
    // Said by `confirm`, to whoever gets that far.
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

  /** Waits for a connection that is just being made, as after a fail-over. */
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

  /** The two connections lead to different processes, so one of them is about to be left: both are made anew. */
  #disagree(): never {
    leaveMaster(this.#peer);
    leaveMaster(this.#master);
    throw new RedisFault('ambiguous', 'master_changed');
  }

  /** A process has one from its start to its end. Asked for once per connection, ahead of every command on it. */
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

/** Whatever has gone wrong, the command itself was executed: refused is only its confirmation. */
function asUnconfirmed(fault: RedisFault): RedisFault {
  return fault.kind === 'refused' ? new RedisFault('ambiguous', fault.code) : fault;
}
