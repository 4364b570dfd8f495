import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import type { HostOptions } from '../host-options.ts';
import { attachHost } from '../v2/attach-host.ts';
import { startEndpoint } from './http-endpoint.ts';

const REVISION = '2026-07-28';

/** One `tools/call` on the wire. */
export interface WireCall {
  readonly id: unknown;
  readonly name: string;
  readonly inputResponses: Record<string, unknown> | undefined;
  readonly requestState: string | undefined;
  readonly declared: unknown;
  readonly headers: Headers;
}

/** Starts a real MCP server of 2026-07-28 over HTTP and a host. `calls` records the requests on the wire. */
export async function modernWorld(
  offer: (mcpServer: McpServer) => void,
  options: Omit<HostOptions, 'mcpServer'>,
  clientOptions: ConstructorParameters<typeof Client>[1] = {},
) {
  const stack = new AsyncDisposableStack();
  const calls: WireCall[] = [];
  const handler = createMcpHandler(() => {
    const mcpServer = new McpServer({ name: 'issues', title: 'Issue Tracker', version: '1.0.0' });
    offer(mcpServer);
    return mcpServer;
  });
  stack.defer(() => handler.close());
  const { url } = stack.use(await startEndpoint(toNodeHandler(handler)));

  const client = new Client(
    { name: 'host', version: '1.0.0' },
    { ...clientOptions, versionNegotiation: { mode: { pin: REVISION } } },
  );
  const host = attachHost(client, { mcpServer: { id: 'issues' }, ...options });
  const fetchAndRecord: typeof fetch = async (target, init) => {
    const body = JSON.parse(String(init?.body ?? '{}'));
    const { params = {} } = body;
    if (body.method === 'tools/call')
      calls.push({
        id: body.id,
        name: params.name,
        inputResponses: params.inputResponses,
        requestState: params.requestState,
        declared: params._meta['io.modelcontextprotocol/clientCapabilities'].elicitation,
        headers: new Headers(init?.headers),
      });
    return await fetch(target, init);
  };
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchAndRecord }));
  stack.defer(() => client.close());
  return { host, client, calls, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
