import { setMaxListeners } from 'node:events';
import type { ElicitationBody } from '@postern/api';
import { asError, GatewayError } from '../errors.ts';
import { CHARGING_MS, type GatewayClient, isTerminal } from '../gateway/client.ts';
import type { WaitingReads } from '../gateway/waiting-reads.ts';
import type {
  CompletionNotices,
  CompletionWatch,
  LegacySession,
  SessionReplica,
  SharedSessions,
  WatchedElicitation,
} from '../run/tool-call.ts';

export interface CompletionWaitersOptions {
  readonly client: Pick<GatewayClient, 'read'>;
  readonly waitingReads: WaitingReads;
  /** Maximum number of waiters in this process. */
  readonly limit: number;
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  readonly onError: (error: Error) => void;
}

/** Maximum number of watches per session, ended ones included. */
const PER_SESSION = 64;
const WAIT_SECONDS = 45;
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 30_000;
/** An elicitation has ended by then, even if the gateway is unreachable. The MCP client must not hang. */
const EXPIRY_GRACE_MS = 60_000;

/**
 * Sends `notifications/elicitation/complete` (revision 2025-11-25) once per MCP session and elicitation. The replica that
 * holds the session waits for the stored status, so it does not matter which gateway replica the browser used.
 * The specification defines the notice for completed interactions; it is sent for every terminal status here, because
 * hosts wait for it without a timeout, and the retried call then returns the stored status.
 */
export class CompletionWaiters implements CompletionNotices {
  readonly #options: CompletionWaitersOptions;
  readonly #sessions = new WeakMap<LegacySession, WatchedSession>();
  readonly #stop = new AbortController();
  #waiting = 0;

  constructor(options: CompletionWaitersOptions) {
    this.#options = options;
  }

  watch(session: LegacySession, elicitation: WatchedElicitation): CompletionWatch | undefined {
    const { watches, signal } = this.#watchedSession(session);
    const existing = watches.get(elicitation.elicitationId);
    if (existing !== undefined) return existing;
    if (this.#waiting >= this.#options.limit || this.#stop.signal.aborted || !makeRoom(watches)) return undefined;

    this.#waiting += 1;
    const watch: Watch = { phase: 'waiting', ended: Promise.resolve(undefined) };
    watch.ended = this.#wait(session, elicitation, watch, signal).finally(() => {
      this.#waiting -= 1;
    });
    watches.set(elicitation.elicitationId, watch);
    return watch;
  }

  /** Like {@link watch}, for a session whose stream was reopened: repeats notices that were sent while it had no stream. */
  async resume(session: LegacySession, elicitation: WatchedElicitation): Promise<void> {
    const { elicitationId } = elicitation;
    if (this.#sessions.get(session)?.watches.get(elicitationId)?.phase === 'notified')
      await this.#notify(session, elicitationId);
    else this.watch(session, elicitation);
  }

  close(): void {
    this.#stop.abort();
  }

  #watchedSession(session: LegacySession): WatchedSession {
    const known = this.#sessions.get(session);
    if (known !== undefined) return known;
    const signal = AbortSignal.any([session.closed, this.#stop.signal]);
    // Each wait adds a listener. Node.js 22 warns about more than ten.
    setMaxListeners(PER_SESSION, signal);
    const watched = { watches: new Map<string, Watch>(), signal };
    this.#sessions.set(session, watched);
    return watched;
  }

  /** Rejects only if `onError` throws, because the promise may have no handler. */
  async #wait(
    session: LegacySession,
    elicitation: WatchedElicitation,
    watch: Watch,
    signal: AbortSignal,
  ): Promise<ElicitationBody | undefined> {
    const ended = await this.#untilEnded(elicitation, signal);
    if (signal.aborted) return undefined;
    // Set before the first await of the notification: a call that arrives now must read the status instead of watching again.
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

  async #untilEnded(elicitation: WatchedElicitation, signal: AbortSignal): Promise<ElicitationBody | undefined> {
    const { client, waitingReads, now, sleep, random, onError } = this.#options;
    using watch = waitingReads.watch(client, elicitation.elicitationId);
    let giveUpAt = Date.parse(elicitation.expiresAt) + EXPIRY_GRACE_MS;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const startedAt = now();
      try {
        const current = await watch.wait(WAIT_SECONDS, signal);
        if (current !== undefined && isTerminal(current)) return current;
        if (current?.kind === 'payment' && current.status === 'active')
          giveUpAt = Date.parse(current.expiresAt) + CHARGING_MS;
        if (now() - startedAt >= FIRST_PAUSE_MS) {
          pause = FIRST_PAUSE_MS;
          continue;
        }
      } catch (error) {
        if (signal.aborted || (error instanceof GatewayError && error.code === 'not_found')) return undefined;
        onError(asError(error));
      }
      if (now() >= giveUpAt) return undefined;
      // The gateway failed, or answered early because it is stopping. Jitter keeps waiters from retrying in lockstep.
      await sleep(pause * (0.5 + random() / 2), signal).catch(() => undefined);
      pause = Math.min(pause * 2, LAST_PAUSE_MS);
    }
    return undefined;
  }
}

interface WatchedSession {
  /** By the id of the elicitation. */
  readonly watches: Map<string, Watch>;
  /** Ends all waits for the session. */
  readonly signal: AbortSignal;
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

/**
 * Delay in milliseconds before this replica watches. The MCP client ignores a notice that arrives before the response with the
 * elicitation, and a stream that is being opened is open by then.
 */
const HEAD_START_MS = 1_000;

export function createSessionReplica(
  shared: SharedSessions,
  {
    completionNotices,
    delay,
  }: { completionNotices: CompletionWaiters; delay: (ms: number, signal: AbortSignal) => Promise<unknown> },
): SessionReplica {
  const here = new Map<string, LegacySession>();

  function take(session: LegacySession): string | undefined {
    const { sessionId, closed } = session;
    if (sessionId === undefined || here.get(sessionId) === session || closed.aborted) return sessionId;
    here.set(sessionId, session);
    closed.addEventListener('abort', () => {
      if (here.get(sessionId) === session) here.delete(sessionId);
    });
    return sessionId;
  }

  function soon(session: LegacySession, work: () => unknown): void {
    // Rejects when the session ends; then no notice is needed.
    delay(HEAD_START_MS, session.closed).then(work, () => undefined);
  }

  shared.subscribe((sessionId, elicitation) => {
    const session = here.get(sessionId);
    if (session !== undefined) soon(session, () => completionNotices.watch(session, elicitation));
  });

  return {
    async promise(session, { elicitationId, expiresAt }) {
      const sessionId = take(session);
      if (sessionId !== undefined) await shared.add(sessionId, { elicitationId, expiresAt });
    },
    async resume(session) {
      const sessionId = take(session);
      if (sessionId === undefined) return;
      const elicitations = await shared.list(sessionId);
      soon(session, () => Promise.all(elicitations.map(elicitation => completionNotices.resume(session, elicitation))));
    },
  };
}
