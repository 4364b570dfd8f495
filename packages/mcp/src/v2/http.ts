import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { sameCopy } from '../create-gate.ts';
import type { HttpSdk } from '../http/endpoint.ts';

/** Also for `attach()`. */
export const checkServer = sameCopy('@modelcontextprotocol/server', McpServer);

/** Streamable HTTP of SDK v2. */
export const httpSdk: HttpSdk<McpServer> = {
  checkServer,
  async connect(server, sessionId) {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
    await server.connect(transport);
    return transport;
  },
  modern(create, onerror) {
    const { fetch, close } = createMcpHandler(({ era, authInfo }) => create({ era, authInfo }), {
      legacy: 'reject',
      onerror,
    });
    return { isLegacy: isLegacyRequest, answer: fetch, close };
  },
};
