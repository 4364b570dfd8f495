import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Revision } from '../revision.ts';
import { type Id, isResponse, type Message, parseMessage } from '../wire/messages.ts';

export const TOOL = 'test_url_elicitation';

/** What a call of the tool gets. */
export type Reply =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

export interface Caller {
  readonly id: Id;
  readonly params: Readonly<Record<string, unknown>>;
  /** `elicitation` of the capabilities that the client declared. */
  readonly elicitation: unknown;
  readonly isModern: boolean;
  /** Sends a request in the stream of this call, for revision 2025-11-25. @returns the response of the client */
  push(method: string, params: object): Promise<Message>;
}

export interface MockServer extends AsyncDisposable {
  readonly url: string;
  /** An address of a page for the user. Pages are only there to be opened: every request to one is recorded. */
  pageUrl(name: string): string;
  /** Requests to pages so far. */
  readonly pageRequests: readonly string[];
  /** Sends a notification in the GET streams of all sessions. @returns whether there is one */
  notify(method: string, params: object): boolean;
}

interface Session {
  readonly elicitation: unknown;
  readonly streams: Set<ServerResponse>;
  readonly waiting: Map<string, (message: Message) => void>;
}

/** An MCP server with one tool, on loopback. It asks as `play` says. */
export async function startMockServer(
  revision: Revision,
  play: (caller: Caller) => Promise<Reply> | Reply,
): Promise<MockServer> {
  const sessions = new Map<string, Session>();
  const pageRequests: string[] = [];
  const tools = [{ name: TOOL, description: 'Asks the user to open a URL', inputSchema: { type: 'object' } }];
  const serverInfo = { name: 'url-mode-conformance', version: '1.0.0' };
  const capabilities = { tools: {} };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.writeHead(400).end());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname.startsWith('/open/')) {
      pageRequests.push(`${request.method} ${pathname}`);
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Conformance</title>');
      return;
    }
    if (pathname !== '/mcp') return void response.writeHead(404).end();
    const sessionId = request.headers['mcp-session-id'];
    const session = sessions.get(String(sessionId));
    if (request.method === 'GET' && revision === '2025-11-25' && session !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }).flushHeaders();
      session.streams.add(response);
      response.on('close', () => session.streams.delete(response));
      return;
    }
    if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
    const message = parseMessage(await text(request));
    if (isResponse(message)) session?.waiting.get(String(message.id))?.(message);
    if (message.id === undefined || message.id === null || message.method === undefined)
      return void response.writeHead(202).end();
    await (revision === '2025-11-25' ? legacy : modern)(message.id, message, session, response);
  }

  const send = (response: ServerResponse, id: Id, reply: Reply, headers = {}, status = 200) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
  const unknownMethod: Reply = { error: { code: -32601, message: 'Method not found' } };

  async function legacy(id: Id, message: Message, session: Session | undefined, response: ServerResponse) {
    const { method, params = {} } = message;
    if (method === 'initialize') {
      const sessionId = randomUUID();
      const declared = params['capabilities'] as { elicitation?: unknown } | undefined;
      sessions.set(sessionId, { elicitation: declared?.elicitation, streams: new Set(), waiting: new Map() });
      const result = { protocolVersion: '2025-11-25', capabilities, serverInfo };
      return send(response, id, { result }, { 'mcp-session-id': sessionId });
    }
    if (session === undefined)
      return send(response, id, { error: { code: -32001, message: 'Session not found' } }, {}, 404);
    if (method === 'ping') return send(response, id, { result: {} });
    if (method === 'tools/list') return send(response, id, { result: { tools } });
    if (method !== 'tools/call') return send(response, id, unknownMethod);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const write = (event: object) =>
      response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...event })}\n\n`);
    const reply = await play({
      id,
      params,
      elicitation: session.elicitation,
      isModern: false,
      async push(pushed, pushedParams) {
        const pushId = randomUUID();
        const { promise, resolve } = Promise.withResolvers<Message>();
        session.waiting.set(pushId, resolve);
        write({ id: pushId, method: pushed, params: pushedParams });
        return await promise;
      },
    });
    write({ id, ...reply });
    return response.end();
  }

  async function modern(id: Id, message: Message, _session: Session | undefined, response: ServerResponse) {
    const { method, params = {} } = message;
    const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    if (method === 'server/discover')
      return send(response, id, { result: { ...cached, supportedVersions: [revision], capabilities, serverInfo } });
    if (method === 'tools/list') return send(response, id, { result: { ...cached, tools } });
    if (method !== 'tools/call') return send(response, id, unknownMethod, {}, 404);
    const meta = params['_meta'] as Record<string, { elicitation?: unknown }> | undefined;
    const reply = await play({
      id,
      params,
      isModern: true,
      elicitation: meta?.['io.modelcontextprotocol/clientCapabilities']?.elicitation,
      push: () => Promise.reject(new Error('revision 2026-07-28 has no requests of servers')),
    });
    return send(response, id, reply, {}, 'error' in reply && reply.error.code === -32021 ? 400 : 200);
  }

  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await listening;
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    pageUrl: name => `http://127.0.0.1:${port}/open/${name}`,
    pageRequests,
    notify(method, params) {
      const streams = [...sessions.values()].flatMap(session => [...session.streams]);
      const event = `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`;
      for (const stream of streams) stream.write(event);
      return streams.length > 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      await closed;
    },
  };
}
