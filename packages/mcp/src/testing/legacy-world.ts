import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod/v4';
import { type PosternOptions, postern } from '../index.ts';
import { postern as posternV1 } from '../v1/index.ts';
import { API_KEY, ContractGateway } from './contract-gateway.ts';
import { type AuthenticatedRequest, McpHttpServer, type NodeHandler } from './mcp-http-server.ts';
import { outcome } from './outcome-tool.ts';

type Options = Partial<PosternOptions<object>>;
type Answer = { action: 'accept' | 'decline' | 'cancel' };
type Elicit = (params: { elicitationId: string; url: string; message: string }) => Answer | Promise<Answer>;
type FilledIn = Answer & { content?: Record<string, string | number | boolean | string[]> };
type Fill = (params: { message: string; requestedSchema: unknown }) => FilledIn | Promise<FilledIn>;

/** The common part of both SDKs' server transports. */
interface SessionTransport {
  sessionId?: string | undefined;
  handle(request: AuthenticatedRequest, response: ServerResponse): Promise<void>;
}

interface ServerKind {
  open(onOpened: (sessionId: string, transport: SessionTransport) => void): Promise<SessionTransport>;
  close(): void;
}

interface Wiring {
  readonly attach: boolean;
}

export type SdkName = 'v1' | 'v2';

const shape = { title: z.string() };

interface SessionOptions {
  readonly sessionIdGenerator: () => string;
  readonly onsessioninitialized: (sessionId: string) => void;
}

/** @param connect connects a new MCP server to a transport, and returns the handler of its requests */
function serverKind(gate: { close(): void }, connect: (options: SessionOptions) => Promise<NodeHandler>): ServerKind {
  return {
    close: () => gate.close(),
    async open(onOpened) {
      const onsessioninitialized = (sessionId: string) => onOpened(sessionId, session);
      const handle = await connect({ sessionIdGenerator: randomUUID, onsessioninitialized });
      const session: SessionTransport = { handle: async (request, response) => handle(request, response) };
      return session;
    },
  };
}

const serverInfo = { name: 'issues', version: '1.0.0' };

function kindV2(url: string, options: Options, { attach }: Wiring): ServerKind {
  const gate = postern({ url, apiKey: API_KEY, ...options });
  return serverKind(gate, async session => {
    const server = new McpServer(serverInfo);
    const { tool } = attach ? gate.attach(server) : gate;
    const inputSchema = z.object(shape);
    server.registerTool(
      'outcome',
      { inputSchema },
      tool((args: { title: string }, ctx) => outcome(ctx.gate, args)),
    );
    const transport = new NodeStreamableHTTPServerTransport(session);
    await server.connect(transport);
    return transport.handleRequest.bind(transport);
  });
}

function kindV1(url: string, options: Options, { attach }: Wiring): ServerKind {
  const gate = posternV1({ url, apiKey: API_KEY, ...options });
  return serverKind(gate, async session => {
    const server = new McpServerV1(serverInfo);
    const { tool } = attach ? gate.attach(server) : gate;
    server.registerTool(
      'outcome',
      { inputSchema: shape },
      tool((args: { title: string }, extra) => outcome(extra.gate, args)),
    );
    const transport = new StreamableHTTPServerTransport(session);
    await server.connect(transport);
    return transport.handleRequest.bind(transport);
  });
}

export interface CallAnswer {
  readonly text?: string | undefined;
  readonly meta?: Record<string, unknown> | undefined;
  readonly error?: { readonly code: unknown; readonly message: string; readonly data: unknown };
}

export interface LegacyHost {
  call(title?: string, signal?: AbortSignal): Promise<CallAnswer>;
  /** Ids of the completion notices so far. */
  readonly completions: string[];
  untilCompleted(count: number): Promise<void>;
  /** Ends the MCP session (HTTP DELETE). */
  terminate(): Promise<void>;
  close(): Promise<void>;
}

interface HostOptions {
  readonly capabilities?: Record<string, object>;
  readonly elicit?: Elicit;
  /** Answers forms. */
  readonly fill?: Fill;
  readonly subject?: string;
  /** Of SDK v2 alone. */
  readonly revision?: string;
  /** `_meta` of every tool call. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** A sessionful MCP server of one SDK with this package, and MCP clients of either SDK. */
export async function legacyWorld(serverSdk: SdkName, options: Options = {}, wiring: Wiring = { attach: true }) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const kind = (serverSdk === 'v2' ? kindV2 : kindV1)(gateway.url, options, wiring);
  stack.defer(() => kind.close());
  const sessions = new Map<string, SessionTransport>();
  const streams = new Set<() => void>();

  const mcp = stack.use(
    await McpHttpServer.start(async (request, response) => {
      if (request.method === 'GET') announceStream(response, streams);
      const known = sessions.get(sessionIdOf(request) ?? '');
      const session = known ?? (await kind.open((sessionId, opened) => sessions.set(sessionId, opened)));
      await session.handle(request, response);
    }),
  );

  async function connect(clientSdk: SdkName, hostOptions: HostOptions = {}): Promise<LegacyHost> {
    const { promise: streaming, resolve } = Promise.withResolvers<void>();
    streams.add(resolve);
    const host = await connectLegacyHost(clientSdk, mcp.url, hostOptions);
    stack.defer(() => host.close());
    await streaming;
    return host;
  }
  return { gateway, mcp, connect, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Connects a client of revision 2025-11-25 to any MCP server. */
export async function connectLegacyHost(sdk: SdkName, url: URL, options: HostOptions = {}): Promise<LegacyHost> {
  return await (sdk === 'v2' ? connectV2 : connectV1)(url, options);
}

const sessionIdOf = (request: IncomingMessage) => request.headers['mcp-session-id']?.toString();

/** Notices go to the session's GET stream, so a test waits until that stream is open. */
function announceStream(response: ServerResponse, streams: Set<() => void>): void {
  const writeHead = response.writeHead.bind(response) as (...parameters: unknown[]) => ServerResponse;
  response.writeHead = (...parameters: unknown[]) => {
    for (const open of streams) open();
    streams.clear();
    return writeHead(...parameters);
  };
}

class Completions {
  readonly ids: string[] = [];
  readonly #listeners = new Set<() => void>();

  add(elicitationId: string): void {
    this.ids.push(elicitationId);
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  async until(count: number): Promise<void> {
    while (this.ids.length < count) await new Promise<void>(resolve => this.#listeners.add(resolve));
  }
}

const requestInit = ({ subject = 'alice' }: HostOptions) => ({ headers: { authorization: `Bearer ${subject}` } });

async function connectV2(url: URL, options: HostOptions): Promise<LegacyHost> {
  const client = new ClientV2(
    { name: 'host', version: '1.0.0' },
    {
      capabilities: options.capabilities ?? urlMode,
      ...(options.revision === undefined ? {} : { supportedProtocolVersions: [options.revision] }),
    },
  );
  const completions = new Completions();
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    completions.add(params.elicitationId),
  );
  const { elicit = cancel, fill = cancel, capabilities = urlMode } = options;
  if (capabilities['elicitation'] !== undefined) {
    client.setRequestHandler('elicitation/create', ({ params }) =>
      params.mode === 'url' ? elicit(params) : fill(params),
    );
  }
  const transport = new TransportV2(url, { requestInit: requestInit(options) });
  await client.connect(transport);
  return {
    completions: completions.ids,
    untilCompleted: count => completions.until(count),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
    call: (title = 'Broken', signal) =>
      answerOf(
        client.callTool(
          { name: 'outcome', arguments: { title }, ...metaOf(options) },
          signal === undefined ? {} : { signal },
        ),
      ),
  };
}

async function connectV1(url: URL, options: HostOptions): Promise<LegacyHost> {
  const client = new ClientV1({ name: 'host', version: '1.0.0' }, { capabilities: options.capabilities ?? urlMode });
  const completions = new Completions();
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
    completions.add(params.elicitationId),
  );
  const { elicit = cancel, fill = cancel, capabilities = urlMode } = options;
  if (capabilities['elicitation'] !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      params.mode === 'url' ? elicit(params) : fill(params),
    );
  }
  const transport = new TransportV1(url, { requestInit: requestInit(options) });
  await client.connect(transport);
  return {
    completions: completions.ids,
    untilCompleted: count => completions.until(count),
    terminate: () => transport.terminateSession(),
    close: () => client.close(),
    call: (title = 'Broken', signal) =>
      answerOf(
        client.callTool(
          { name: 'outcome', arguments: { title }, ...metaOf(options) },
          CallToolResultSchema,
          signal === undefined ? {} : { signal },
        ),
      ),
  };
}

const metaOf = ({ meta }: HostOptions) => (meta === undefined ? {} : { _meta: { ...meta } });

const cancel = (): Answer => ({ action: 'cancel' });
const urlMode = { elicitation: { form: {}, url: {} } };

const resultSchema = z.looseObject({
  content: z.array(z.looseObject({ text: z.string().optional() })),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
const errorSchema = z.object({ code: z.unknown(), message: z.string(), data: z.unknown().optional() });

async function answerOf(call: Promise<unknown>): Promise<CallAnswer> {
  try {
    const result = resultSchema.parse(await call);
    return { text: result.content[0]?.text, meta: result._meta };
  } catch (error) {
    const parsed = errorSchema.safeParse(error);
    if (!parsed.success || parsed.data.code === undefined) throw error;
    return { error: { code: parsed.data.code, message: parsed.data.message, data: parsed.data.data } };
  }
}
