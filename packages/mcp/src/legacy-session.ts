import { invalidOptions } from './errors.ts';

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

/** Key of the server on stdio among the servers of a gate, which otherwise have the id of their session. */
export const LOCAL = 'stdio';

/** @throws {PosternUsageError} if another connection is open: a handler could not tell which of both it serves */
export function takePlace<McpServer extends ConnectedServer>(servers: Map<string, McpServer>, server: McpServer): void {
  if (servers.get(LOCAL)?.server.transport !== undefined)
    throw invalidOptions('gate.stdio: serves one connection, and one is open.');
  servers.set(LOCAL, server);
}
