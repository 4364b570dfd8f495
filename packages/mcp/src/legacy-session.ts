import type { ElicitationBody } from '@postern/api';

/** A connection of the 2025-11-25 era. */
export interface LegacySession {
  /** Undefined on stdio. */
  readonly sessionId: string | undefined;
  /** Aborts when the connection closes. Ends all waits for the session. */
  readonly closed: AbortSignal;
  /** Sends `notifications/elicitation/complete` to this connection alone, outside any request's stream. */
  notifyComplete(elicitationId: string): Promise<void>;
}

/** The part of both SDKs' `McpServer` that outlives a request. */
export interface ConnectedServer {
  readonly server: {
    readonly transport?: { readonly sessionId?: string | undefined } | undefined;
    onclose?: () => void;
    notification(notification: {
      method: 'notifications/elicitation/complete';
      params: { elicitationId: string };
    }): Promise<void>;
  };
}

export type WatchedElicitation = Pick<ElicitationBody, 'elicitationId' | 'expiresAt'>;

/**
 * Shares between the replicas of an MCP server which MCP session (revision 2025-11-25) waits for which elicitation. Needed only
 * if a session's calls and its stream may reach different replicas. With Redis: an expiring hash per session, and a channel.
 */
export interface SharedSessions {
  /** Stores it until it expires, and notifies every replica. */
  add(sessionId: string, elicitation: WatchedElicitation): Promise<void>;
  /** Lists the unexpired elicitations of the session. */
  list(sessionId: string): Promise<readonly WatchedElicitation[]>;
  /** Calls the listener for every later `add`, on any replica. */
  subscribe(listener: (sessionId: string, elicitation: WatchedElicitation) => void): void;
}

export type SessionOf<McpServer> = (server: McpServer) => LegacySession;

/** One {@link LegacySession} per connection of an attached `McpServer`. */
export function createSessionOf<McpServer extends ConnectedServer>(): SessionOf<McpServer> {
  const sessions = new WeakMap<McpServer, LegacySession>();
  return server => {
    const open = sessions.get(server);
    if (open !== undefined && !open.closed.aborted) return open;
    const session = openSession(server);
    sessions.set(server, session);
    return session;
  };
}

function openSession({ server: protocol }: ConnectedServer): LegacySession {
  const closed = new AbortController();
  const previous = protocol.onclose;
  protocol.onclose = () => {
    closed.abort();
    if (previous === undefined) delete protocol.onclose;
    else protocol.onclose = previous;
    previous?.();
  };
  return {
    sessionId: protocol.transport?.sessionId,
    closed: closed.signal,
    // Without a related request it goes to the session's own stream (GET), which outlives the call that asked.
    notifyComplete: elicitationId =>
      protocol.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } }),
  };
}
