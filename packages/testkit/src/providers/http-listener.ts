import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpListener extends AsyncDisposable {
  readonly port: number;
  /** Number of TCP connections accepted so far. */
  readonly connections: number;
  /** Closes the connections that wait for their next request, as a server does after a while. */
  closeIdle(): void;
  close(): Promise<void>;
}

/** Starts an HTTP server on one loopback address. A rejection of `handle` breaks the connection. Closing aborts open connections. */
export async function listenHttp(
  handle: (...p: Parameters<RequestListener>) => unknown,
  p: { port?: number | undefined; address?: string } = {},
): Promise<HttpListener> {
  const httpServer = createServer(async (request, response) => {
    try {
      await handle(request, response);
    } catch {
      response.destroy();
    }
  });
  let connections = 0;
  httpServer.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve, reject) => {
    httpServer.once('error', reject);
    httpServer.listen(p.port ?? 0, p.address ?? '127.0.0.1', resolve);
  });
  const { port } = httpServer.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve, reject) => {
      httpServer.close(error => (error ? reject(error) : resolve()));
      httpServer.closeAllConnections();
    });
  return {
    port,
    get connections() {
      return connections;
    },
    closeIdle: () => httpServer.closeIdleConnections(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
