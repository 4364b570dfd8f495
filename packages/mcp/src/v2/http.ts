import {
  createMcpHandler,
  isLegacyRequest,
  type McpRequestContext,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { sameCopy } from '../create-gate.ts';
import type { CreateServer, HttpSdk } from '../http/endpoint.ts';
import type { RegisteredHandlers } from '../registered-handlers.ts';

/** Also for `attach()`. */
export const checkServer = sameCopy('@modelcontextprotocol/server', McpServer);

/** Streamable HTTP of SDK v2. */
export function createHttpSdk(create: CreateServer<McpServer>, registered: RegisteredHandlers): HttpSdk<McpServer> {
  const createModern = async ({ era, authInfo }: McpRequestContext) => {
    const server = await create({ era, authInfo });
    checkServer(server);
    registered.add(server);
    return server;
  };
  const modern = createMcpHandler(createModern, { legacy: 'reject' });
  return {
    checkServer,
    async connect(server, sessionId) {
      const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
      await server.connect(transport);
      return transport;
    },
    modern: {
      isLegacy: isLegacyRequest,
      answer: modern.fetch,
      close: () => modern.close(),
    },
  };
}
