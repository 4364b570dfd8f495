import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { sameCopy } from '../create-gate.ts';
import type { HttpSdk } from '../http/endpoint.ts';

/** Also for `attach()`. */
export const checkServer = sameCopy('@modelcontextprotocol/sdk', McpServer);

/** Streamable HTTP of SDK v1, which has sessions only. */
export const httpSdk: HttpSdk<McpServer> = {
  checkServer,
  async connect(server, sessionId) {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
    // The transport of SDK v1 does not satisfy its own interface under exactOptionalPropertyTypes.
    await server.connect(transport as unknown as Transport);
    return transport;
  },
};
