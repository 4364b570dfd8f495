import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';

export interface HttpListener extends AsyncDisposable {
  readonly port: number;
}

/**
 * Starts an HTTP server on loopback; port 0 selects a free port. Disposing the server aborts open connections. The handler receives only
 * targets that are URLs, which `//` is not.
 */
export async function listenHttp(port: number, handle: RequestListener): Promise<HttpListener> {
  const httpServer = createServer((request, response) => {
    if (URL.canParse(request.url ?? '', 'http://localhost')) handle(request, response);
    else response.writeHead(400).end();
  }).listen(port, '127.0.0.1');
  await once(httpServer, 'listening');
  return {
    port: portOf(httpServer),
    async [Symbol.asyncDispose]() {
      const closed = once(httpServer, 'close');
      httpServer.close();
      httpServer.closeAllConnections();
      await closed;
    },
  };
}

/** Returns `preferred` if that port is free, otherwise any free port. */
export async function choosePort(preferred: number): Promise<number> {
  try {
    return await probe(preferred);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    return await probe(0);
  }
}

async function probe(port: number): Promise<number> {
  const tcpServer = createTcpServer().listen(port, '127.0.0.1');
  await once(tcpServer, 'listening');
  const chosen = portOf(tcpServer);
  const closed = once(tcpServer, 'close');
  tcpServer.close();
  await closed;
  return chosen;
}

function portOf(listener: Pick<Server, 'address'>): number {
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new TypeError('not listening on a port');
  return address.port;
}
