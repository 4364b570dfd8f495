import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler, McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import type { McpEndpoint as GateEndpoint, NodeRequest, SharedGate } from '@postern/mcp';
import { listenHttp } from '@postern/testkit/providers';

export interface McpEndpointOptions {
  readonly gate: Pick<SharedGate, 'endpoint'>;
  /** Registers the tools of one `McpServer` instance; called once per session (2025-11-25) or request (2026-07-28). */
  readonly offer: (mcpServer: McpServer) => void;
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
  /** The `McpServer` of an open 2025-11-25 session. */
  serverOf(sessionId: string): McpServer | undefined;
}

export async function startMcpEndpoint(options: McpEndpointOptions): Promise<McpEndpoint> {
  const { gate, offer, legacy = 'session', rewrite = (body: unknown) => body } = options;
  const created: McpServer[] = [];

  const create = ({ era }: { readonly era: 'legacy' | 'modern' }): McpServer => {
    const mcpServer = new McpServer({ name: 'fixture', version: '1.0.0' }, options.serverOptions ?? {});
    offer(mcpServer);
    if (era === 'legacy') created.push(mcpServer);
    return mcpServer;
  };
  const mcp = legacy === 'session' ? gate.endpoint(create) : statelessEndpoint(create);

  const listener = await listenHttp((request: NodeRequest, response) => {
    const answer = async () => {
      const auth = options.authenticate(request);
      if (auth !== undefined) request.auth = auth;
      const body = request.method === 'POST' ? rewrite(await json(request)) : undefined;
      await mcp.node(request, response, body);
    };
    answer().catch(() => response.writeHead(500).end());
  });
  return {
    url: new URL(`http://127.0.0.1:${listener.port}/mcp`),
    serverOf: sessionId => created.find(({ server }) => server.transport?.sessionId === sessionId),
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await listener.close();
    },
  };
}

/** The SDK's own handler, which knows no sessions. */
function statelessEndpoint(create: McpServerFactory): Pick<GateEndpoint, 'node' | 'close'> {
  const handler = createMcpHandler(create);
  return { node: toNodeHandler(handler), close: () => handler.close() };
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
