import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler, isLegacyRequest, McpServer } from '@modelcontextprotocol/server';
import { listenHttp } from '@postern/testkit/providers';

/** Registers the tools of one `McpServer` instance; called once per session (2025-11-25) or request (2026-07-28). */
export type Offer = (mcpServer: McpServer, connection: 'session' | 'request') => void;

export interface McpEndpointOptions {
  readonly offer: Offer;
  /** The caller: the verified access token of a real MCP server. Undefined: anonymous. */
  readonly authenticate: (request: IncomingMessage) => AuthInfo | undefined;
  readonly serverOptions?: ConstructorParameters<typeof McpServer>[1];
  /** How requests of revision 2025-11-25 are served. Default `session`. */
  readonly legacy?: 'session' | 'stateless';
  /** Receives every parsed request body and may change it before the SDK sees it. */
  readonly rewrite?: (body: unknown) => unknown;
}

/** An MCP server on the real SDK, on loopback, with one URL for both protocol eras. */
export interface McpEndpoint extends AsyncDisposable {
  readonly url: URL;
  /** The `McpServer` of each open 2025-11-25 session, by session id. */
  readonly sessions: ReadonlyMap<string, McpServer>;
}

type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };
type Handle = (request: AuthenticatedRequest, response: ServerResponse, body?: unknown) => Promise<void>;

/** The SDK's Node types lack `exactOptionalPropertyTypes`; at run time both are the same. */
const asHandle = (handler: unknown): Handle => handler as Handle;

/** GET and DELETE exist only in sessions. The body of a POST shows its era. */
async function belongsToSession(request: IncomingMessage, body: unknown): Promise<boolean> {
  if (request.method !== 'POST') return request.headers['mcp-session-id'] !== undefined;
  return await isLegacyRequest(await toWebRequest(request as Parameters<typeof toWebRequest>[0], body), body);
}

export async function startMcpEndpoint(options: McpEndpointOptions): Promise<McpEndpoint> {
  const { offer, legacy = 'session', rewrite = (body: unknown) => body } = options;
  const sessions = new Map<string, McpServer>();
  const handles = new Map<string, Handle>();

  const create = (connection: 'session' | 'request'): McpServer => {
    const mcpServer = new McpServer({ name: 'fixture', version: '1.0.0' }, options.serverOptions ?? {});
    offer(mcpServer, connection);
    return mcpServer;
  };
  const modern = createMcpHandler(() => create('request'), {
    legacy: legacy === 'stateless' ? 'stateless' : 'reject',
  });
  const handleModern = asHandle(toNodeHandler(modern));

  async function openSession(): Promise<Handle> {
    const mcpServer = create('session');
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: sessionId => {
        sessions.set(sessionId, mcpServer);
        handles.set(sessionId, handle);
      },
      onsessionclosed: sessionId => {
        sessions.delete(sessionId);
        handles.delete(sessionId);
      },
    });
    const handle = asHandle(transport.handleRequest.bind(transport));
    await mcpServer.connect(transport);
    return handle;
  }

  async function route(request: AuthenticatedRequest, response: ServerResponse): Promise<void> {
    const auth = options.authenticate(request);
    if (auth !== undefined) request.auth = auth;
    const body = request.method === 'POST' ? rewrite(await json(request)) : undefined;
    if (legacy === 'stateless' || !(await belongsToSession(request, body))) {
      return await handleModern(request, response, body);
    }
    const handle = handles.get(request.headers['mcp-session-id']?.toString() ?? '') ?? (await openSession());
    await handle(request, response, body);
  }

  const listener = await listenHttp((request, response) => {
    route(request, response).catch(() => response.writeHead(500).end());
  });
  return {
    url: new URL(`http://127.0.0.1:${listener.port}/mcp`),
    sessions,
    async [Symbol.asyncDispose]() {
      await Promise.all([...sessions.values()].map(mcpServer => mcpServer.close()));
      await modern.close();
      await listener.close();
    },
  };
}

/** Accepts every bearer token as the subject: these tests are not about token verification. */
export function bearerIsSubject(issuer: string): (request: IncomingMessage) => AuthInfo | undefined {
  return request => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    return token === undefined ? undefined : authInfoOf(issuer, token);
  };
}

export function authInfoOf(issuer: string, subject: string): AuthInfo {
  return { token: subject, clientId: 'fixture-host', scopes: [], extra: { iss: issuer, sub: subject } };
}
