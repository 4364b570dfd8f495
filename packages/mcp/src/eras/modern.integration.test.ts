import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Gate, type PosternOptions, postern } from '../index.ts';
import { ACCESS_TOKEN, API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { asNodeHandler, McpHttpServer } from '../testing/mcp-http-server.ts';

type Answer = { action: 'accept' | 'decline' | 'cancel' };
type Elicit = (params: { url?: string | undefined; message: string }) => Answer | Promise<Answer>;

function issueTracker(gate: Gate): McpServer {
  const server = new McpServer({ name: 'issues', version: '1.0.0' });
  server.registerTool(
    'create_issue',
    { inputSchema: z.object({ title: z.string() }) },
    gate.tool(async ({ title }, ctx) => {
      const github = await ctx.gate.authorize('github', { scopes: ['repo'] });
      if (github.action !== 'accept') return github.toToolResult();
      const token = await github.accessToken();
      return { content: [{ type: 'text', text: `created ${title} with ${token === ACCESS_TOKEN}` }] };
    }),
  );
  return server;
}

async function world(options: Partial<PosternOptions<ServerContext>> = {}, build = issueTracker) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const gate = postern({ url: gateway.url, apiKey: API_KEY, ...options });
  const handler = createMcpHandler(() => build(gate));
  const mcp = stack.use(await McpHttpServer.start(asNodeHandler(toNodeHandler(handler))));
  stack.defer(() => handler.close());

  async function connect(elicit: Elicit | undefined, client: ClientOptions = {}, subject = 'alice') {
    const mcpClient = new Client(
      { name: 'host', version: '1.0.0' },
      {
        versionNegotiation: { mode: 'auto' },
        capabilities: elicit === undefined ? {} : { elicitation: { form: {}, url: {} } },
        ...client,
      },
    );
    if (elicit !== undefined) {
      mcpClient.setRequestHandler('elicitation/create', async request => await elicit(request.params));
    }
    const transport = new StreamableHTTPClientTransport(mcp.url, {
      requestInit: { headers: { authorization: `Bearer ${subject}` } },
    });
    await mcpClient.connect(transport);
    stack.defer(() => mcpClient.close());
    return mcpClient;
  }
  return { gateway, gate, mcp, connect, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const call = { name: 'create_issue', arguments: { title: 'Broken' } };

test('asks, holds the retry, and goes on when the user has finished', async () => {
  await using w = await world();
  const asked: string[] = [];
  const client = await w.connect(params => {
    asked.push(params.url ?? '', params.message);
    void w.gateway.untilWaiting().then(() => w.gateway.end('completed'));
    return { action: 'accept' };
  });
  const result = await client.callTool(call);
  expect(result.isError).toBeUndefined();
  expect(result.content).toEqual([{ type: 'text', text: 'created Broken with true' }]);
  expect(asked[0]).toBe(w.gateway.elicitations[0]?.url);
  expect(asked[1]).toContain(w.gateway.elicitations[0]?.matchCode);
  expect(w.gateway.issueCount).toBe(1);
});
