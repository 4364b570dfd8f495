/**
 * A replica of an MCP server, as a process: SDK v2 or v1, revision 2025-11-25, with sessions that any replica can continue. Redis stores
 * the `initialize` of each session, which is replayed where the session is unknown, and the elicitations that sessions wait for.
 * Argument: its settings as JSON. Sends its port to its parent.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { type AuthInfo, McpServer } from '@modelcontextprotocol/server';
import { type GateContext, postern, type SharedSessions, type WatchedElicitation } from '@postern/mcp';
import { postern as posternV1 } from '@postern/mcp/v1';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { bearerIsSubject } from './mcp-endpoint.ts';
import type { McpServerProcessSettings } from './mcp-server-process.ts';

type Handle = (
  request: IncomingMessage & { auth?: AuthInfo },
  response: ServerResponse,
  body: unknown,
) => Promise<void>;

const settings = JSON.parse(process.argv[2] ?? '') as McpServerProcessSettings;
const redis = new Redis(settings.redisUrl);
const subscriber = redis.duplicate();
const authenticate = bearerIsSubject(settings.issuer);
const CHANNEL = 'waits';
const RESTORE = 'x-restore';
const initializeKey = (sessionId: string) => `initialize:${sessionId}`;
const waitsKey = (sessionId: string) => `waits:${sessionId}`;

const sessions: SharedSessions = {
  async add(sessionId, elicitation) {
    const text = JSON.stringify(elicitation);
    await redis
      .multi()
      .hset(waitsKey(sessionId), elicitation.elicitationId, text)
      .pexpireat(waitsKey(sessionId), Date.parse(elicitation.expiresAt))
      .publish(CHANNEL, JSON.stringify([sessionId, elicitation]))
      .exec();
  },
  async list(sessionId) {
    return (await redis.hvals(waitsKey(sessionId))).map(text => JSON.parse(text) as WatchedElicitation);
  },
  subscribe(listener) {
    subscriber.on('message', (_channel, text) => listener(...(JSON.parse(text) as [string, WatchedElicitation])));
  },
};
const options = {
  url: settings.gatewayUrl,
  apiKey: settings.apiKey,
  ...(settings.shared ? { sessions } : {}),
};

async function authorize(gate: GateContext) {
  const forge = await gate.try.authorize('forge', { scopes: ['repo'] });
  const text = forge.action === 'accept' ? 'accept' : `${forge.action} ${forge.reason}`;
  return { content: [{ type: 'text' as const, text }] };
}

const sharedV2 = settings.sdk === 'v2' ? postern(options) : undefined;
const sharedV1 = settings.sdk === 'v1' ? posternV1(options) : undefined;
const shape = { order: z.string() };

/** Resumes the waits of a session before its stream opens here. */
function handleOf(transport: { handleRequest: Handle }, gate: { resume(): Promise<void> }): Handle {
  const handle = transport.handleRequest.bind(transport);
  return async (request, response, body) => {
    if (settings.shared && request.method === 'GET') await gate.resume();
    await handle(request, response, body);
  };
}

async function open(sessionId: string): Promise<Handle> {
  return await (sharedV2 === undefined ? openV1(sessionId) : openV2(sessionId));
}

async function openV2(sessionId: string): Promise<Handle> {
  const mcpServer = new McpServer({ name: 'fixture', version: '1.0.0' });
  const gate = sharedV2?.attach(mcpServer);
  if (gate === undefined) throw new TypeError('the gate belongs to the other SDK');
  mcpServer.registerTool(
    'authorize',
    { inputSchema: z.object(shape) },
    gate.tool((_: { order: string }, ctx) => authorize(ctx.gate)),
  );
  const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
  await mcpServer.connect(transport);
  return handleOf(transport, gate);
}

async function openV1(sessionId: string): Promise<Handle> {
  const mcpServer = new McpServerV1({ name: 'fixture', version: '1.0.0' });
  const gate = sharedV1?.attach(mcpServer);
  if (gate === undefined) throw new TypeError('the gate belongs to the other SDK');
  mcpServer.registerTool(
    'authorize',
    { inputSchema: shape },
    gate.tool((_: { order: string }, extra) => authorize(extra.gate)),
  );
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
  await mcpServer.connect(transport);
  return handleOf(transport, gate);
}

const here = new Map<string, Promise<Handle>>();
const restoring = new Map<string, Handle>();

/** Replays the `initialize` of a session that another replica opened. */
async function restore(sessionId: string, initialize: string): Promise<Handle> {
  const handle = await open(sessionId);
  restoring.set(sessionId, handle);
  const answer = await fetch(`http://127.0.0.1:${port()}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer replay',
      [RESTORE]: sessionId,
    },
    body: initialize,
  });
  await answer.text();
  restoring.delete(sessionId);
  if (!answer.ok) throw new Error(`not restored: ${answer.status}`);
  return handle;
}

async function sessionFor(sessionId: string): Promise<Handle | undefined> {
  const known = here.get(sessionId);
  if (known !== undefined) return await known;
  const initialize = await redis.get(initializeKey(sessionId));
  if (initialize === null) return undefined;
  const opened = here.get(sessionId) ?? restore(sessionId, initialize);
  here.set(sessionId, opened);
  return await opened;
}

async function serve(request: IncomingMessage & { auth?: AuthInfo }, response: ServerResponse): Promise<void> {
  const auth = authenticate(request);
  if (auth !== undefined) request.auth = auth;
  const body = request.method === 'POST' ? await json(request) : undefined;
  const restored = restoring.get(String(request.headers[RESTORE]));
  if (restored !== undefined) return await restored(request, response, body);
  const sessionId = request.headers['mcp-session-id'];
  if (typeof sessionId === 'string') {
    const handle = await sessionFor(sessionId);
    if (handle === undefined) return void response.writeHead(404).end();
    return await handle(request, response, body);
  }
  const fresh = randomUUID();
  await redis.set(initializeKey(fresh), JSON.stringify(body));
  const opening = open(fresh);
  here.set(fresh, opening);
  await (await opening)(request, response, body);
}

const httpServer = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.writeHead(500).end();
  });
});
const port = () => (httpServer.address() as AddressInfo).port;
await subscriber.subscribe(CHANNEL);
// The parent has exited, so no one can end this process.
process.once('disconnect', () => process.exit());
httpServer.listen(0, '127.0.0.1', () => process.send?.({ port: port() }));
