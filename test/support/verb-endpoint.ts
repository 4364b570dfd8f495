import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { AuthInfo } from '@modelcontextprotocol/server';
import { type NodeHandler, type NodeRequest, type PosternOptions, postern } from '@postern/mcp';
import { postern as posternV1 } from '@postern/mcp/v1';
import { listenHttp } from '@postern/testkit/providers';
import { z } from 'zod';
import { bearerIsSubject, startMcpEndpoint } from './mcp-endpoint.ts';
import { type Given, runVerbTool, type VerbArgs, verbArgs, verbTools } from './verb-tools.ts';
import { watchHolds } from './watched-holds.ts';
import { keyOf, type World } from './world.ts';

export interface VerbEndpointOptions {
  /** SDK of the MCP server. Default `v2`. */
  readonly sdk?: 'v2' | 'v1';
  /** How requests of revision 2025-11-25 are served. Default `session`. */
  readonly legacy?: 'session' | 'stateless';
  /** Overrides of `url`, `apiKey` and `fetch`. */
  readonly postern?: Partial<PosternOptions<object>>;
  /** Index of the gateway that it calls. Default: the first. */
  readonly replica?: number;
}

/** An MCP server with one tool for every verb of `@postern/mcp`. */
export interface VerbEndpoint extends AsyncDisposable {
  readonly url: URL;
  /** Arguments of its handlers, in order. */
  readonly given: readonly Given[];
  /** Resolves when this MCP server has sent `count` waiting reads (default one) for this elicitation. */
  untilHolding(elicitationId: string, count?: number): Promise<void>;
}

export async function startVerbEndpoint(world: World, options: VerbEndpointOptions = {}): Promise<VerbEndpoint> {
  const holds = watchHolds();
  const given: Given[] = [];
  const start = options.sdk === 'v1' ? startV1 : startV2;
  const endpoint = await start({
    options,
    given,
    surroundings: { accountUrl: `${world.provider.issuer}/me` },
    authenticate: bearerIsSubject(world.identityProvider.issuer),
    posternOptions: {
      url: world.gateways[options.replica ?? 0]?.address ?? world.publicUrl,
      apiKey: keyOf('tracker'),
      ...options.postern,
      fetch: holds.fetch,
    },
  });
  return { ...endpoint, given, untilHolding: holds.untilHolding };
}

interface Parts {
  readonly options: VerbEndpointOptions;
  readonly given: Given[];
  readonly surroundings: { readonly accountUrl: string };
  readonly authenticate: (request: IncomingMessage) => AuthInfo | undefined;
  readonly posternOptions: PosternOptions<object>;
}

const partsOf = ({ given, surroundings }: Parts) => ({ surroundings, give: (one: Given) => void given.push(one) });

async function startV2(parts: Parts): Promise<AsyncDisposable & { url: URL }> {
  const { legacy } = parts.options;
  const gate = postern(parts.posternOptions);
  const endpoint = await startMcpEndpoint({
    authenticate: parts.authenticate,
    legacy,
    gate,
    offer: mcpServer => {
      for (const tool of verbTools) {
        const handler = gate.tool({ name: tool }, (args: VerbArgs, ctx) =>
          runVerbTool({ tool, ...partsOf(parts) }, args, ctx.gate),
        );
        mcpServer.registerTool(tool, { inputSchema: z.object(verbArgs) }, handler);
      }
    },
  });
  return {
    url: endpoint.url,
    async [Symbol.asyncDispose]() {
      gate.close();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}

async function startV1(parts: Parts): Promise<AsyncDisposable & { url: URL }> {
  const gate = posternV1(parts.posternOptions);
  const create = () => {
    const mcpServer = new McpServerV1({ name: 'fixture', version: '1.0.0' });
    for (const tool of verbTools) {
      const handler = gate.tool({ name: tool }, (args: VerbArgs, extra) =>
        runVerbTool({ tool, ...partsOf(parts) }, args, extra.gate),
      );
      mcpServer.registerTool(tool, { inputSchema: verbArgs }, handler);
    }
    return mcpServer;
  };
  const mcp = gate.endpoint(create);
  const node = parts.options.legacy === 'stateless' ? statelessNodeV1(create) : mcp.node;

  const listener = await listenHttp((request: NodeRequest, response) => {
    const auth = parts.authenticate(request);
    if (auth !== undefined) request.auth = auth;
    node(request, response).catch(() => response.writeHead(500).end());
  });
  return {
    url: new URL(`http://127.0.0.1:${listener.port}/mcp`),
    async [Symbol.asyncDispose]() {
      gate.close();
      await mcp.close();
      await listener.close();
    },
  };
}

/** A server and a transport per request, as SDK 1.x has it. */
function statelessNodeV1(create: () => McpServerV1): NodeHandler {
  return async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const mcpServer = create();
    const transport = new StreamableHTTPServerTransport({});
    response.once('close', () => void mcpServer.close());
    await mcpServer.connect(transport);
    // The two SDKs' types for a verified token differ only in `readonly`.
    await transport.handleRequest(
      request as Parameters<typeof transport.handleRequest>[0],
      response,
      await json(request),
    );
  };
}
