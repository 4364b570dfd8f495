import { randomBytes } from 'node:crypto';
import { createRequestStateCodec, McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { registerConformancePrompts, registerConformanceResources } from './conformance-content.ts';
import { type Changes, registerConformanceTools } from './conformance-tools.ts';

/** Makes MCP servers with all that the official suite calls. @param changesOf what a server tells changes to */
export function conformanceServers(changesOf: (mcpServer: McpServer) => Changes): McpServerFactory {
  const codec = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) });
  return ({ era }) => {
    const mcpServer = new McpServer(
      { name: 'conformance', version: '1.0.0' },
      {
        capabilities: { logging: {}, completions: {}, resources: { subscribe: true } },
        requestState: { verify: (state, ctx) => codec.verify(state, ctx) },
      },
    );
    registerConformanceTools(mcpServer, { codec, changes: changesOf(mcpServer) });
    registerConformanceResources(mcpServer);
    registerConformancePrompts(mcpServer);
    for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const)
      if (era === 'legacy') mcpServer.server.setRequestHandler(method, async () => ({}));
    return mcpServer;
  };
}
