import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Registry } from 'prom-client';
import type { Readiness } from '../http/health-plugin.ts';
import { createServer, type ListenerOptions } from '../http/listener.ts';
import { SERVER_OPTIONS } from '../http/unknown-callers.ts';
import { hostPort, listenErrorOf } from '../start-error.ts';

export interface MetricsListener extends AsyncDisposable {
  /** URL of the listener. */
  readonly address: string;
}

/**
 * Starts the listener for metrics and health. It is separate from the public one, so that its protection does not depend on a proxy
 * rule. It needs no credential, so its address must be reachable only from the operator's network.
 * @throws StartError if the address is in use
 */
export async function startMetricsListener(p: {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  /** Resolves if the gateway can serve requests. */
  readonly ready: () => Promise<Readiness>;
  /** Names that requests may have as host, besides addresses, names without a dot, and `host`. */
  readonly allowedHosts: readonly string[];
  readonly addressOf: ListenerOptions['addressOf'];
  readonly unidentified: ListenerOptions['unidentified'];
}): Promise<MetricsListener> {
  const answers: Readonly<Record<string, (response: ServerResponse) => Promise<void>>> = {
    '/metrics': async response => send(response, 200, await p.registry.metrics(), p.registry.contentType),
    '/livez': async response => send(response, 200, 'live\n'),
    '/readyz': response =>
      p.ready().then(
        ({ writes }) => send(response, 200, writes ? 'ready\n' : 'ready\nwrites: false\n'),
        () => send(response, 503, 'not ready\n'),
      ),
  };
  const httpServer = createServer({
    ...SERVER_OPTIONS,
    requestTimeout: 5_000,
    headersTimeout: 5_000,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 8 * 1024,
  });
  // Enough for scrapers.
  httpServer.maxConnections = 64;
  const onRequest = ({ method, url = '', headers }: IncomingMessage, response: ServerResponse) => {
    if (!isAllowedHost(headers.host, [p.host, ...p.allowedHosts]))
      return send(response, 403, 'host not allowed: add it to metrics.allowedHosts\n');
    const path = url.split('?', 1)[0] ?? '';
    const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
    if (answer === undefined) return send(response, 404, 'not found\n');
    if (method !== 'GET') return send(response.setHeader('allow', 'GET'), 405, 'method not allowed\n');
    answer(response).catch(() => send(response, 500, 'failed\n'));
  };
  p.unidentified.guard(httpServer, { ...p, pipelined: 8, onRequest });
  httpServer.listen({ host: p.host, port: p.port });
  try {
    await once(httpServer, 'listening');
  } catch (error) {
    throw listenErrorOf(error, 'metrics', p);
  }
  const bound = httpServer.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : p.port;
  return {
    address: `http://${hostPort(p.host, port)}`,
    async [Symbol.asyncDispose]() {
      httpServer.close();
      httpServer.closeAllConnections();
    },
  };
}

/**
 * A web page whose name resolves to this address (DNS rebinding) sends that name. It cannot be an address, or a name without a dot, which
 * no stranger owns.
 */
function isAllowedHost(host: string | undefined, names: readonly string[]): boolean {
  const name = URL.parse(`http://${host ?? ''}`)?.hostname.replace(/^\[|\]$/g, '');
  return name !== undefined && (isIP(name) !== 0 || !name.includes('.') || names.includes(name));
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  response
    .writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    .end(body);
}
