import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpListener extends AsyncDisposable {
  readonly port: number;
  /** Number of TCP connections accepted so far. */
  readonly connections: number;
  close(): Promise<void>;
}

/** Starts an HTTP server on one loopback address. Closing it aborts open connections. */
export async function listenHttp(
  handle: RequestListener,
  p: { port?: number; address?: string } = {},
): Promise<HttpListener> {
  const httpServer = createServer(handle);
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
    close,
    [Symbol.asyncDispose]: close,
  };
}
