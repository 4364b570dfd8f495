import { randomUUID } from 'node:crypto';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  type EventStore,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServerFactory,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { listenHttp } from '@postern/testkit/providers';
import { conformanceServers } from './conformance-mcp-server.ts';

export interface ConformanceServerOptions {
  /** Whether it looks where a request says that it comes from, as servers on loopback must. Default true. */
  readonly checksHost?: boolean;
}

export interface ConformanceServer extends AsyncDisposable {
  readonly url: URL;
}

/** An MCP server with all that the official suite calls, built with the SDK alone: both eras at one URL, with sessions for the older. */
export async function startConformanceServer({
  checksHost = true,
}: ConformanceServerOptions = {}): Promise<ConformanceServer> {
  const create = conformanceServers(() => ({
    toolsChanged: () => modern.notify.toolsChanged(),
    promptsChanged: () => modern.notify.promptsChanged(),
  }));
  const modern = createMcpHandler(create, { legacy: 'reject' });
  const sessions = new Sessions(create);
  const refused = (request: Request) =>
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  const handle = toNodeHandler({
    fetch: async request =>
      (checksHost ? refused(request) : undefined) ??
      ((await isLegacyRequest(request)) ? await sessions.fetch(request) : await modern.fetch(request)),
  });
  const listener = await listenHttp(handle);
  return {
    url: new URL(`http://127.0.0.1:${listener.port}/mcp`),
    async [Symbol.asyncDispose]() {
      await sessions.close();
      await modern.close();
      await listener.close();
    },
  };
}

/** Sessions of revision 2025-11-25. */
class Sessions {
  readonly #create: McpServerFactory;
  readonly #transports = new Map<string, WebStandardStreamableHTTPServerTransport>();

  constructor(create: McpServerFactory) {
    this.#create = create;
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return await (await this.#begin()).handleRequest(request);
    return (
      (await this.#transports.get(id)?.handleRequest(request)) ??
      Response.json(
        { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } },
        { status: 404 },
      )
    );
  }

  async close(): Promise<void> {
    for (const transport of this.#transports.values()) await transport.close();
  }

  /** The transport itself refuses a first message that does not initialize. */
  async #begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => void this.#transports.set(id, transport),
      onsessionclosed: id => void this.#transports.delete(id),
      eventStore: storeEvents(),
      retryInterval: 10,
    });
    const mcpServer = await this.#create({ era: 'legacy' });
    await mcpServer.connect(transport);
    return transport;
  }
}

/** Keeps everything that a session has sent, so that a stream goes on where it broke (SEP-1699). */
function storeEvents(): EventStore {
  const events: { streamId: string; message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  return {
    storeEvent: async (streamId, message) => String(events.push({ streamId, message }) - 1),
    getStreamIdForEventId: async id => events[Number(id)]?.streamId,
    async replayEventsAfter(lastId, { send }) {
      const streamId = events[Number(lastId)]?.streamId ?? '';
      // The first event of a stream has no message in it.
      for (const [at, event] of events.entries())
        if (at > Number(lastId) && event.streamId === streamId && 'jsonrpc' in event.message)
          await send(String(at), event.message);
      return streamId;
    },
  };
}
