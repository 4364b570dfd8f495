import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { hostPort, listenErrorOf, originHere } from '../start-error.ts';
import { SERVER_OPTIONS, type UnidentifiedBytes } from './unknown-callers.ts';

/** Of one request. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** Listen backlog. Large, because thousands of callers reconnect at once when another replica stops. */
const BACKLOG = 4_096;

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxConnections: number;
  /** Timeout of a handler, in ms. */
  readonly handlerMs: number;
  /** Maximum of pipelined requests on a connection. */
  readonly pipelined: number;
  /** Address of the caller, behind trusted proxies. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly unidentified: UnidentifiedBytes;
  /** Called for each request. It may use another application for each. */
  readonly onRequest: RequestListener;
  readonly onClientError: (error: Error & { code: string }, socket: Socket) => void;
  /** Called for a TCP connection that was closed at once because there are too many. */
  readonly onDrop: () => void;
}

/** What a listener needs to serve requests of callers that it does not know yet. */
export type ListenerRequests = Pick<ListenerOptions, 'onRequest' | 'addressOf' | 'unidentified'>;

export interface Listener {
  readonly httpServer: Server;
  /** Local URL, behind any proxy. */
  readonly address: string;
  /** Host and port, as configured. */
  readonly listening: string;
}

/**
 * Opens the public listener. It belongs to the process, not to an application: a reload changes what handles the next request, and no
 * connection notices.
 * @throws StartError if the address is in use
 */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const { host } = options;
  const httpServer = await listen(options, host, options.port);
  const bound = httpServer.address();
  if (bound === null || typeof bound === 'string') throw new TypeError('a listener has an address and a port');
  const { address, port } = bound;
  if (host === 'localhost') await listenElsewhere(httpServer, options, { address, port });
  return { httpServer, address: originHere(address, port), listening: hostPort(host, port) };
}

/** Timeouts of a whole request, and of its headers. */
export const REQUEST_MS = 15_000;
export const HEADERS_MS = 10_000;

/** An import of node:http would read all its members, and one of them loads Node's own undici: 15 MB, and a tenth of the start. */
export const { createServer } = process.getBuiltinModule('node:http');

async function listen(options: ListenerOptions, host: string, port: number): Promise<Server> {
  const httpServer = createServer({
    ...SERVER_OPTIONS,
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    // Node's default of 30 s would add up to 30 s to both.
    connectionsCheckingInterval: 2_000,
    // Longer than the idle timeout of load balancers (60 s): if the gateway closed first, a request could be lost.
    keepAliveTimeout: options.handlerMs + 5_000,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  options.unidentified.guard(httpServer, options);
  httpServer.setTimeout(options.handlerMs + 20_000);
  httpServer.maxConnections = options.maxConnections;
  httpServer.on('drop', options.onDrop);
  httpServer.on('clientError', options.onClientError);
  httpServer.listen({ host, port, backlog: BACKLOG });
  try {
    await once(httpServer, 'listening');
  } catch (error) {
    throw listenErrorOf(error, 'listen', options);
  }
  return httpServer;
}

/** `localhost` may be 127.0.0.1 and ::1, but a listener has one address. Addresses that this machine lacks are left out. */
async function listenElsewhere(
  first: Server,
  options: ListenerOptions,
  bound: { readonly address: string; readonly port: number },
): Promise<void> {
  const addresses = await lookup(options.host, { all: true });
  const others = addresses.filter(({ address }) => address !== bound.address);
  for (const result of await Promise.allSettled(others.map(({ address }) => listen(options, address, bound.port)))) {
    if (result.status === 'rejected') continue;
    first.once('close', () => {
      result.value.close();
      result.value.closeAllConnections();
    });
  }
}
