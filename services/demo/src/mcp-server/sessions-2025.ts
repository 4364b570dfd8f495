import { randomUUID } from 'node:crypto';
import { type AuthInfo, type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';

interface McpSession {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Issuer and subject of the user who opened it. A session id alone proves nothing. */
  readonly owner: string;
}

/** Revision 2025-11-25: one `McpServer` and one transport per session, each open only to the user who started it. */
export function createSessions2025(create: () => McpServer) {
  const sessions = new Map<string, McpSession>();

  return {
    async fetch(request: Request, authInfo: AuthInfo): Promise<Response> {
      const owner = JSON.stringify([authInfo.extra?.['iss'], authInfo.extra?.['sub']]);
      const sessionId = request.headers.get('mcp-session-id');
      if (sessionId !== null) {
        const session = sessions.get(sessionId);
        if (session === undefined || session.owner !== owner) return unknownSession();
        return await session.transport.handleRequest(request, { authInfo });
      }

      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => void sessions.set(id, { transport, owner }),
        onsessionclosed: id => void sessions.delete(id),
      });
      await create().connect(transport);
      return await transport.handleRequest(request, { authInfo });
    },

    async close(): Promise<void> {
      const open = [...sessions.values()];
      sessions.clear();
      await Promise.all(open.map(({ transport }) => transport.close()));
    },
  };
}

/** Streamable HTTP, session management: 404 tells the MCP client to start a new session. */
function unknownSession(): Response {
  return Response.json(
    { jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null },
    { status: 404 },
  );
}
