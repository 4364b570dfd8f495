import { randomUUID } from 'node:crypto';
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as ClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport as InMemoryTransportV1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server as ServerV1 } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ElicitResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { ProtocolError, Server } from '@modelcontextprotocol/server';
import type { HostOptions } from '../host-options.ts';
import { attachHostV1 } from '../v1/attach-host.ts';
import { attachHost } from '../v2/attach-host.ts';
import { type NodeHandler, startEndpoint } from './http-endpoint.ts';

/** Context of a tool of the example server. */
export interface ToolContext {
  readonly args: Record<string, unknown>;
  /** Pushes an `elicitation/create`. */
  elicit(params: Record<string, unknown>, signal?: AbortSignal): Promise<{ action: string; content?: unknown }>;
  notifyComplete(elicitationId: string): Promise<void>;
}
/** @throws {WireError} to answer with a JSON-RPC error */
export type ExampleTool = (context: ToolContext) => Promise<string>;
export type ExampleTools = Record<string, ExampleTool>;

export class WireError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, data: unknown) {
    super('as the test says');
    this.code = code;
    this.data = data;
  }
}

export interface LegacyHost {
  /** @returns the text of the answer */
  call(name: string, args?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<string>;
  completion(elicitationId: string): Promise<void>;
}

const INFO = { name: 'issues', title: 'Issue Tracker', version: '1.0.0' };
const textOf = (result: { content: readonly { type: string }[] }) =>
  (result.content[0] as { text?: string } | undefined)?.text ?? '';
const toolOf = (tools: ExampleTools, name: string): ExampleTool => {
  const tool = tools[name];
  if (tool === undefined) throw new WireError(-32602, undefined);
  return tool;
};

function exampleServerV2(tools: ExampleTools): Server {
  const server = new Server(INFO, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    try {
      const text = await toolOf(
        tools,
        params.name,
      )({
        args: params.arguments ?? {},
        elicit: async (asked, signal) =>
          await ctx.mcpReq.send(
            { method: 'elicitation/create', params: asked as never },
            signal === undefined ? {} : { signal },
          ),
        notifyComplete: elicitationId =>
          server.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } }),
      });
      return { content: [{ type: 'text', text }] };
    } catch (error) {
      if (error instanceof WireError) throw new ProtocolError(error.code, error.message, error.data);
      throw error;
    }
  });
  return server;
}

function exampleServerV1(tools: ExampleTools): ServerV1 {
  const server = new ServerV1(INFO, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    try {
      const text = await toolOf(
        tools,
        params.name,
      )({
        args: params.arguments ?? {},
        elicit: async (asked, signal) =>
          await extra.sendRequest(
            { method: 'elicitation/create', params: asked as never },
            ElicitResultSchema,
            signal === undefined ? {} : { signal },
          ),
        notifyComplete: elicitationId =>
          server.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } }),
      });
      return { content: [{ type: 'text', text }] };
    } catch (error) {
      if (error instanceof WireError) throw new McpError(error.code, error.message, error.data);
      throw error;
    }
  });
  return server;
}

/** Connects an example server and a host with one SDK over one transport. */
type Connect = (tools: ExampleTools, options: HostOptions, stack: AsyncDisposableStack) => Promise<LegacyHost>;

async function joinV2(transport: Parameters<Client['connect']>[0], options: HostOptions, stack: AsyncDisposableStack) {
  const client = new Client({ name: 'host', version: '1.0.0' });
  const host = attachHost(client, options);
  await client.connect(transport);
  stack.defer(() => client.close());
  const call: LegacyHost['call'] = async (name, args = {}, callOptions = {}) =>
    textOf(await host.callTool({ name, arguments: args }, callOptions));
  return { call, completion: host.completion };
}

async function joinV1(transport: TransportV1, options: HostOptions, stack: AsyncDisposableStack) {
  const client = new ClientV1({ name: 'host', version: '1.0.0' });
  const host = attachHostV1(client, options);
  await client.connect(transport);
  stack.defer(() => client.close());
  const call: LegacyHost['call'] = async (name, args = {}, callOptions = {}) =>
    textOf(await host.callTool({ name, arguments: args }, callOptions));
  return { call, completion: host.completion };
}

/** Starts an endpoint with one MCP session, for one host. */
async function startSession(transport: { handleRequest: NodeHandler }) {
  return await startEndpoint(transport.handleRequest.bind(transport));
}

export const legacyWorlds: Readonly<Record<string, Connect>> = {
  'SDK v2 over HTTP': async (tools, options, stack) => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
    await exampleServerV2(tools).connect(transport);
    const { url } = stack.use(await startSession(transport));
    return await joinV2(new StreamableHTTPClientTransport(url), options, stack);
  },
  'SDK v2 in memory': async (tools, options, stack) => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await exampleServerV2(tools).connect(far);
    return await joinV2(near, options, stack);
  },
  'SDK v1 over HTTP': async (tools, options, stack) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
    await exampleServerV1(tools).connect(transport as unknown as TransportV1);
    const { url } = stack.use(await startSession(transport));
    return await joinV1(new ClientTransportV1(url), options, stack);
  },
  'SDK v1 in memory': async (tools, options, stack) => {
    const [near, far] = InMemoryTransportV1.createLinkedPair();
    await exampleServerV1(tools).connect(far);
    return await joinV1(near, options, stack);
  },
};
