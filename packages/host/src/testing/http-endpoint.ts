import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Serves an MCP endpoint on loopback. */
export async function startEndpoint(handler: NodeHandler): Promise<{ url: URL } & AsyncDisposable> {
  const httpServer = createServer((request, response) => void handler(request, response));
  httpServer.listen(0, '127.0.0.1');
  await once(httpServer, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(httpServer.address() as AddressInfo).port}/mcp`),
    async [Symbol.asyncDispose]() {
      httpServer.closeAllConnections();
      httpServer.close();
      await once(httpServer, 'close');
    },
  };
}
