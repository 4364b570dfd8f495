import {
  createMcpHandler,
  isLegacyRequest,
  type McpRequestContext,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { sameCopy } from '../create-gate.ts';
import type { HttpSdk } from '../http/endpoint.ts';
import type { RegisteredHandlers } from '../registered-handlers.ts';

/** Also for `attach()`. */
export const checkServer = sameCopy('@modelcontextprotocol/server', McpServer);

/** Streamable HTTP of SDK v2. */
export function createHttpSdk(registered: RegisteredHandlers): HttpSdk<McpServer> {
  return {
    checkServer,
    async connect(server, sessionId) {
      const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
      await server.connect(transport);
      return transport;
    },
    modern(create, onerror) {
      const createModern = async ({ era, authInfo }: McpRequestContext) => {
        const server = await create({ era, authInfo });
        registered.add(server);
        return server;
      };
      const { fetch, close } = createMcpHandler(createModern, { legacy: 'reject', onerror });
      return { isLegacy: isLegacyRequest, answer: fetch, close };
    },
  };
}
