/**
 * An MCP server as our users build it: SDK v2, streamable HTTP, one session per MCP client (revision 2025-11-25), verified bearer tokens,
 * the gate of @postern/mcp. Argument: a JSON file with its settings.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { type AuthInfo, McpServer, UrlElicitationRequiredError } from '@modelcontextprotocol/server';
import { postern } from '@postern/mcp';
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose';
import { z } from 'zod';

export interface McpServerSettings {
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly provider: string;
  readonly issuer: string;
  readonly audience: string;
  readonly jwks: JSONWebKeySet;
  /** Runs without the gateway: the tool returns −32042 itself, and a page in this process ends the elicitation without checks. */
  readonly isFloor: boolean;
}

type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };
interface McpSession {
  readonly owner: string;
  handle(request: AuthenticatedRequest, response: ServerResponse): Promise<void>;
}

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as McpServerSettings;
const keys = createLocalJWKSet(settings.jwks);
const gate = postern({ url: settings.gatewayUrl, apiKey: settings.apiKey });
const sessions = new Map<string, McpSession>();
const claimsSchema = z.object({ sub: z.string(), client_id: z.string(), scope: z.string(), exp: z.number() });

async function authenticate(request: AuthenticatedRequest): Promise<boolean> {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  try {
    const { issuer, audience } = settings;
    const verified = await jwtVerify(token, keys, { issuer, audience, typ: 'at+jwt', algorithms: ['ES256'] });
    const { sub, client_id, scope, exp } = claimsSchema.parse(verified.payload);
    request.auth = {
      token,
      clientId: client_id,
      scopes: scope.split(' '),
      expiresAt: exp,
      extra: { iss: issuer, sub },
    };
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof z.ZodError) return false;
    throw error;
  }
}

/** MCP servers that wait for the bare page, by elicitation id. */
const waitingFor = new Map<string, McpServer>();

function gatedTool(mcpServer: McpServer) {
  return gate.attach(mcpServer).tool(async (_args, ctx) => {
    await ctx.gate.authorize(settings.provider);
    return { content: [{ type: 'text', text: 'done' }] };
  });
}

function bareTool(mcpServer: McpServer) {
  return async (): Promise<never> => {
    const elicitationId = randomUUID();
    waitingFor.set(elicitationId, mcpServer);
    const url = `http://localhost:${port()}/e/${elicitationId}`;
    throw new UrlElicitationRequiredError([{ mode: 'url', elicitationId, url, message: 'Decide about the cart' }]);
  };
}

/** Ends the elicitation in the path, without checking the caller. */
async function bareDecision(path: string, response: ServerResponse): Promise<void> {
  const [, elicitationId = ''] = /^\/e\/([^/]+)\/decline$/.exec(path) ?? [];
  const mcpServer = waitingFor.get(elicitationId);
  if (mcpServer === undefined) return void response.writeHead(404).end();
  waitingFor.delete(elicitationId);
  response.writeHead(303, { location: '/' }).end();
  await mcpServer.server.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } });
}

async function openSession(owner: string): Promise<McpSession> {
  const mcpServer = new McpServer({ name: 'issue-tracker', version: '1.0.0' });
  mcpServer.registerTool(
    'close_cart',
    { description: 'Needs the account of the user', inputSchema: z.object({ cartId: z.string() }) },
    settings.isFloor ? bareTool(mcpServer) : gatedTool(mcpServer),
  );
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: sessionId => void sessions.set(sessionId, session),
  });
  const handle = transport.handleRequest.bind(transport);
  const session = { owner, handle };
  await mcpServer.connect(transport);
  return session;
}

async function serve(request: AuthenticatedRequest, response: ServerResponse): Promise<void> {
  if (settings.isFloor && request.url?.startsWith('/e/')) {
    request.resume();
    return await bareDecision(request.url, response);
  }
  if (!(await authenticate(request))) return void response.writeHead(401).end();
  const owner = JSON.stringify([request.auth?.extra?.['iss'], request.auth?.extra?.['sub']]);
  const sessionId = request.headers['mcp-session-id'];
  const session = typeof sessionId === 'string' ? sessions.get(sessionId) : await openSession(owner);
  if (session === undefined || session.owner !== owner) return void response.writeHead(404).end();
  await session.handle(request, response);
}

const httpServer = createServer((request, response) => void serve(request, response));
const port = () => (httpServer.address() as AddressInfo).port;
httpServer.listen(0, '127.0.0.1', () => process.send?.({ port: port() }));
process.once('SIGTERM', () => process.exit(0));
