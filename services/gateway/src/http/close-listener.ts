import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface CloseListenerOptions {
  /** How long connections on which nothing happens stay open: a request may be on its way on one of them. In ms. */
  readonly lingerMs: number;
  /** How long requests under way may take, in ms from now. */
  readonly finishMs: number;
  /** Called as soon as nobody can connect any more. */
  readonly onDeaf: () => void;
}

/**
 * Stops listening, lets what is under way finish, and cuts what does not. Whoever still sends on an open connection is answered, so
 * a request is lost only when it meets the very moment in which its idle connection is closed; HTTP/1.1 leaves that to the
 * sender (RFC 9112, section 9.6).
 * @returns how many connections were cut
 */
export async function closeListener(httpServer: Server, options: CloseListenerOptions): Promise<number> {
  if (!httpServer.listening) {
    options.onDeaf();
    return 0;
  }
  const closed = once(httpServer, 'close');
  // Of the listener alone: `close` of an HTTP server ends idle connections at once, and with them what is on its way.
  NetServer.prototype.close.call(httpServer);
  options.onDeaf();
  const over = new AbortController();
  const pause = (ms: number) => delay(ms, undefined, { signal: over.signal }).catch(() => undefined);
  const allGone = closed.then(() => over.abort());
  const began = performance.now();
  if (options.lingerMs > 0) await Promise.race([allGone, pause(options.lingerMs)]);
  httpServer.closeIdleConnections();
  await Promise.race([allGone, pause(Math.max(0, options.finishMs - (performance.now() - began)))]);
  if (over.signal.aborted) return 0;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  httpServer.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  const cut = await promise;
  httpServer.closeAllConnections();
  await closed;
  return cut;
}
