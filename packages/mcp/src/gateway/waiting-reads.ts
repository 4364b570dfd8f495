import type { ElicitationBody } from '@postern/api';
import { GatewayError } from '../errors.ts';
import { type GatewayClient, isTerminal } from './client.ts';

/** A caller's interest in the end of one elicitation. Disposing the last one aborts the waiting read. */
export interface EndWatch extends Disposable {
  /**
   * Waits at most `seconds` for the end. Returns the latest status that was read, or undefined if a read is still waiting.
   *
   * @throws {GatewayError}, or the signal's reason
   */
  wait(seconds: number, signal: AbortSignal): Promise<ElicitationBody | undefined>;
}

export interface WaitingReadsOptions {
  /** Maximum number of waiting reads in flight. Each keeps a connection to the gateway open. */
  readonly limit: number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

interface Watched {
  watches: number;
  read: Promise<ElicitationBody> | undefined;
  readonly abort: AbortController;
}

/** Maximum interval between two reads while no read may wait, in seconds. */
const POLL_SECONDS = 30;

/**
 * Waits for ends by `GET /v1/elicitations/{id}?wait=…`, with one read in flight per elicitation, however many calls and MCP
 * sessions of this process wait for it. Every read starts with the stored status, so it does not miss an end between two reads.
 *
 * At the limit of waiting reads in this process or at the gateway, the status is read without waiting, at intervals.
 */
export class WaitingReads {
  readonly #options: WaitingReadsOptions;
  readonly #watched = new Map<string, Watched>();
  #inFlight = 0;

  constructor(options: WaitingReadsOptions) {
    this.#options = options;
  }

  /** @param client carries the trace of the caller if this caller starts the read */
  watch(client: Pick<GatewayClient, 'read'>, elicitationId: string): EndWatch {
    const watched = this.#watched.get(elicitationId) ?? { watches: 0, read: undefined, abort: new AbortController() };
    this.#watched.set(elicitationId, watched);
    watched.watches += 1;
    let isWatching = true;
    return {
      wait: (seconds, signal) => this.#wait({ client, elicitationId, watched }, seconds, signal),
      [Symbol.dispose]: () => {
        if (isWatching) watched.watches -= 1;
        isWatching = false;
        if (watched.watches > 0) return;
        this.#watched.delete(elicitationId);
        if (watched.read !== undefined) watched.abort.abort();
      },
    };
  }

  async #wait(p: Waiter, seconds: number, signal: AbortSignal): Promise<ElicitationBody | undefined> {
    const until = performance.now() + seconds * 1000;
    for (let left = seconds; ; left = Math.floor((until - performance.now()) / 1000)) {
      const isJoined = p.watched.read !== undefined;
      const read = p.watched.read ?? this.#start(p, left);
      if (read === undefined) return await this.#poll(p, left, signal);
      let current: ElicitationBody | undefined;
      try {
        current = await firstOf([read], isJoined ? left * 1000 : Number.POSITIVE_INFINITY, signal);
      } catch (error) {
        if (!isWaitRefused(error)) throw error;
        return await this.#poll(p, left, signal);
      }
      // A read that another caller started may end before this caller's timeout.
      const isOver = !isJoined || performance.now() > until - 1000;
      if (current === undefined || isTerminal(current) || isOver) return current;
    }
  }

  #start({ client, elicitationId, watched }: Waiter, seconds: number): Promise<ElicitationBody> | undefined {
    if (this.#inFlight >= this.#options.limit) return undefined;
    this.#inFlight += 1;
    const read = client.read(elicitationId, seconds, watched.abort.signal).finally(() => {
      this.#inFlight -= 1;
      watched.read = undefined;
    });
    // The caller that started it may have left.
    read.catch(() => undefined);
    watched.read = read;
    return read;
  }

  async #poll({ client, elicitationId }: Waiter, seconds: number, signal: AbortSignal): Promise<ElicitationBody> {
    const { sleep, random } = this.#options;
    await sleep(Math.min(seconds, POLL_SECONDS) * 1000 * (0.5 + random() / 2), signal);
    return await client.read(elicitationId, 0, signal);
  }
}

interface Waiter {
  readonly client: Pick<GatewayClient, 'read'>;
  readonly elicitationId: string;
  readonly watched: Watched;
}

/** The gateway has reached its limit of waiting reads, for this MCP server or in total. */
function isWaitRefused(error: unknown): boolean {
  return (
    error instanceof GatewayError && (error.code === 'overloaded' || error.code === 'too_many_concurrent_requests')
  );
}

/** Maximum delay of a Node.js timer, in milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Settles with the first promise that settles. Resolves with undefined after `ms`.
 *
 * @throws the signal's reason
 */
export async function firstOf<T>(
  promises: readonly Promise<T>[],
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  const timer = ms <= MAX_TIMER_MS ? setTimeout(resolve, ms, undefined) : undefined;
  try {
    return await Promise.race([...promises, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
