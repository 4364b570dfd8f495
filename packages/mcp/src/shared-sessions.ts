import type { CompletionWaiters, WatchedElicitation } from './completion-waiters.ts';
import type { LegacySession } from './legacy-session-port.ts';

/**
 * Where the replicas of one MCP server tell each other which MCP session (revision 2025-11-25) waits for which elicitation. Needed
 * where a session's calls and its stream may be on different replicas, and only there. With Redis: a hash per session that expires,
 * and a channel.
 */
export interface SharedSessions {
  /** Keeps it until it has expired, and tells every replica. */
  add(sessionId: string, elicitation: WatchedElicitation): Promise<void>;
  /** All that was added for the session and has not expired. */
  list(sessionId: string): Promise<readonly WatchedElicitation[]>;
  /** Tells of everything that is added from now on, on whichever replica. */
  subscribe(listener: (sessionId: string, elicitation: WatchedElicitation) => void): void;
}

/** The sessions of this replica among those that all replicas know. */
export interface SessionReplica {
  /** Before the MCP client is told that there will be a notice. */
  promise(session: LegacySession, elicitation: WatchedElicitation): Promise<void>;
  /** The session's stream is opened here: what it waits for is waited for here from now on, and what it missed is told. */
  resume(session: LegacySession): Promise<void>;
}

/**
 * Milliseconds. The replica that asks answers first: a notice of what the MCP client has not heard of is ignored. And a session
 * that is about to have its stream has it by then.
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
    // Rejects with the end of the session, and then there is nobody to tell.
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
