import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { CreateServer, HttpSdk } from '../http/endpoint.ts';

/** Streamable HTTP of SDK v2. */
export function createHttpSdk(create: CreateServer<McpServer>): HttpSdk<McpServer> {
  const modern = createMcpHandler(({ era, authInfo }) => create({ era, authInfo }), { legacy: 'reject' });
  return {
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
