import type { ElicitationBody } from '@postern/api';
import type { EventBus } from './bus/event-bus.ts';
import { isTerminal } from './elicitation-status.ts';
import { asError, GatewayError } from './errors.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { LegacySession } from './legacy-session-port.ts';

/** One elicitation that one MCP session was told about. */
export interface CompletionWatch {
  readonly phase: 'waiting' | 'notified';
  /** The elicitation as it ended, where it was read; undefined also when the session closed first or nobody knows it any more. */
  readonly ended: Promise<ElicitationBody | undefined>;
}

export type WatchedElicitation = Pick<ElicitationBody, 'elicitationId' | 'expiresAt'>;

export interface CompletionWaitersOptions {
  readonly client: Pick<GatewayClient, 'read'>;
  /** Undefined: the gateway is asked to wait. */
  readonly bus?: EventBus | undefined;
  /** Waiters in this process. */
  readonly limit: number;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly onError: (error: Error) => void;
}

/** Waiters and remembered ids of one session: more than a person can have open in a browser. */
const PER_SESSION = 64;
const WAIT_SECONDS = 45;
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 30_000;
/** After its expiry an elicitation has ended whatever the gateway can tell us; the MCP client must not hang on it. */
const EXPIRY_GRACE_MS = 60_000;
/** Unless it is being paid, which ends when the processor says so: within a day, the longest that a checkout stays open. */
const CHARGING_GRACE_MS = 24 * 60 * 60_000;

/**
 * Sends `notifications/elicitation/complete` (revision 2025-11-25) once per MCP session and elicitation. The replica that
 * holds the session hears of the end by the gateway's events, or waits on the stored status while there are none, so it does
 * not matter which gateway replica the browser used.
 * The specification defines the notice for completed interactions; it is sent for every terminal status here, because
 * hosts wait for it without a timeout, and the retried call then tells the truth.
 */
export class CompletionWaiters {
  readonly #options: CompletionWaitersOptions;
  readonly #watches = new WeakMap<LegacySession, Map<string, Watch>>();
  readonly #stop = new AbortController();
  #waiting = 0;

  constructor(options: CompletionWaitersOptions) {
    this.#options = options;
  }

  /**
   * The existing watch of this session and elicitation, a new one, or undefined when there is no room.
   *
   * @param openSince a moment (of `performance.now()`) after which the gateway has said that the elicitation is open
   */
  watch(session: LegacySession, elicitation: WatchedElicitation, openSince?: number): CompletionWatch | undefined {
    const watches = this.#watches.get(session) ?? new Map<string, Watch>();
    this.#watches.set(session, watches);
    const existing = watches.get(elicitation.elicitationId);
    if (existing !== undefined) return existing;
    if (this.#waiting >= this.#options.limit || this.#stop.signal.aborted || !makeRoom(watches)) return undefined;

    this.#waiting += 1;
    const watch: Watch = { phase: 'waiting', ended: Promise.resolve(undefined) };
    watch.ended = this.#wait(session, elicitation, watch, openSince).finally(() => {
      this.#waiting -= 1;
    });
    watches.set(elicitation.elicitationId, watch);
    return watch;
  }

  /** As {@link watch}, for a session whose stream was opened anew: what it was told while there was none, it is told again. */
  async resume(session: LegacySession, elicitation: WatchedElicitation): Promise<void> {
    const { elicitationId } = elicitation;
    if (this.#watches.get(session)?.get(elicitationId)?.phase === 'notified')
      await this.#notify(session, elicitationId);
    else this.watch(session, elicitation);
  }

  close(): void {
    this.#stop.abort();
  }

  /** Rejects only when `onError` throws: nobody may be listening. */
  async #wait(
    session: LegacySession,
    elicitation: WatchedElicitation,
    watch: Watch,
    openSince: number | undefined,
  ): Promise<ElicitationBody | undefined> {
    const signal = AbortSignal.any([session.closed, this.#stop.signal]);
    const ended = await this.#untilEnded(elicitation, signal, openSince);
    if (signal.aborted) return undefined;
    // Before the first await of the notification: a call that comes now must read the status instead of watching anew.
    watch.phase = 'notified';
    await this.#notify(session, elicitation.elicitationId);
    return ended;
  }

  async #notify(session: LegacySession, elicitationId: string): Promise<void> {
    try {
      await session.notifyComplete(elicitationId);
    } catch (error) {
      if (!session.closed.aborted) this.#options.onError(asError(error));
    }
  }

  async #untilEnded(
    elicitation: WatchedElicitation,
    signal: AbortSignal,
    openSince: number | undefined,
  ): Promise<ElicitationBody | undefined> {
    const { client, bus, now, sleep, onError } = this.#options;
    using listening = bus?.listen(elicitation.elicitationId);
    let giveUpAt = Date.parse(elicitation.expiresAt) + EXPIRY_GRACE_MS;
    let pause = FIRST_PAUSE_MS;
    /** It was open a moment ago, and nothing that came since can have been missed. */
    let isKnown = openSince !== undefined && bus?.covers(openSince) === true;
    let wasQuiet = false;
    while (!signal.aborted) {
      const startedAt = now();
      const isLive = bus?.isLive === true;
      try {
        if (isLive && isKnown && listening !== undefined) {
          const heard = await listening.next(WAIT_SECONDS * 1000, signal);
          // The notice says as much as the event does: look. What the call that is made again is told is read.
          if (heard === 'ended') return undefined;
          isKnown = false;
          wasQuiet = heard === 'over';
          continue;
        }
        const current = await client.read(elicitation.elicitationId, isLive ? 0 : WAIT_SECONDS, signal);
        if (isTerminal(current)) {
          if (!isLive) bus?.foundEnded(current.elicitationId);
          else if (wasQuiet) bus?.missed();
          return current;
        }
        if (current.kind === 'payment' && current.status === 'active')
          giveUpAt = Date.parse(current.expiresAt) + CHARGING_GRACE_MS;
        isKnown = isLive;
        if (isLive || now() - startedAt >= FIRST_PAUSE_MS) {
          pause = FIRST_PAUSE_MS;
          continue;
        }
      } catch (error) {
        if (signal.aborted || (error instanceof GatewayError && error.code === 'not_found')) return undefined;
        onError(asError(error));
      }
      if (now() >= giveUpAt) return undefined;
      // A gateway that fails, or that answers at once because it is shutting down, must not be hammered.
      await sleep(pause, signal).catch(() => undefined);
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    }
    return undefined;
  }
}

interface Watch extends CompletionWatch {
  phase: 'waiting' | 'notified';
  ended: Promise<ElicitationBody | undefined>;
}

function makeRoom(watches: Map<string, Watch>): boolean {
  if (watches.size < PER_SESSION) return true;
  for (const [elicitationId, watch] of watches) {
    if (watch.phase === 'notified') return watches.delete(elicitationId);
  }
  return false;
}
