import type { CompletionWaiters } from './completion-waiters.ts';
import type { LegacySession, SharedSessions, WatchedElicitation } from './legacy-session.ts';

/** The sessions of this replica. */
export interface SessionReplica {
  /** Call this before promising the notice to the MCP client. */
  promise(session: LegacySession, elicitation: WatchedElicitation): Promise<void>;
  /**
   * Call this when the session's stream opens here. Waits for the session's elicitations and sends the notices that it missed.
   */
  resume(session: LegacySession): Promise<void>;
}

/**
 * Delay in milliseconds before this replica watches. The MCP client ignores a notice that arrives before the response with the
 * elicitation, and a stream that is being opened is open by then.
 */
const HEAD_START_MS = 1_000;

export function createSessionReplica(
  shared: SharedSessions,
  { waiters, delay }: { waiters: CompletionWaiters; delay: (ms: number, signal: AbortSignal) => Promise<unknown> },
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
    if (session !== undefined) soon(session, () => waiters.watch(session, elicitation));
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
      soon(session, () => Promise.all(elicitations.map(elicitation => waiters.resume(session, elicitation))));
    },
  };
}
