import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

/** The stages of stopping a process. They never go backwards. */
export interface Stopping {
  /** Aborted when the process reports "not ready". It still serves, and every response closes its connection. */
  readonly draining: AbortSignal;
  /** Aborted when the listener is closed: waiting reads get a response, event streams end. Implies `draining`. */
  readonly closing: AbortSignal;
  drain(): void;
  close(): void;
}

export function createStopping(): Stopping {
  const draining = new AbortController();
  const closing = new AbortController();
  return {
    draining: draining.signal,
    closing: closing.signal,
    drain: () => draining.abort(),
    close() {
      draining.abort();
      closing.abort();
    },
  };
}

/** Like `Promise.all`, but waits for each also if another one fails. @throws the first failure */
export async function allEnded(work: readonly Promise<unknown>[]): Promise<void> {
  const settled = await Promise.allSettled(work);
  for (const each of settled) if (each.status === 'rejected') throw each.reason;
}

/** The process still serves, but is about to stop. */
export class StoppingError extends Error {
  override readonly name = 'StoppingError';
  constructor() {
    super('The gateway is stopping.');
  }
}

interface CloseListenerOptions {
  /** How long idle connections stay open, in ms, because a request may still arrive on one of them. */
  readonly lingerMs: number;
  /** Timeout of in-flight requests, in ms from now. */
  readonly finishMs: number;
  /** Called when the listener no longer accepts connections. */
  readonly onDeaf: () => void;
}

/** Maximum duration of an idle turn of the event loop, in ms. In a longer turn, connections may have arrived unnoticed. */
const QUIET_TURN_MS = 0.2;
/** Maximum time to wait for a quiet turn, in ms: callers that never stop sending must not keep the listener open. */
const QUIET_WITHIN_MS = 1_000;

/**
 * Stops listening, lets in-flight requests finish, and aborts the rest after the timeout. Accepts the connections in the backlog and
 * reads what has arrived on idle connections first, so a request is lost only if it is in transit at the moment of closing. HTTP/1.1
 * leaves that to the sender (RFC 9112, section 9.6).
 * @returns the number of aborted connections
 */
export async function closeListener(httpServer: Server, options: CloseListenerOptions): Promise<number> {
  if (!httpServer.listening) {
    options.onDeaf();
    return 0;
  }
  const closed = once(httpServer, 'close');
  await untilQuiet(httpServer);
  // Closes only the listener: `close` of an HTTP server also closes idle connections, and loses requests on their way.
  NetServer.prototype.close.call(httpServer);
  options.onDeaf();
  const over = new AbortController();
  const pause = (ms: number) => delay(ms, undefined, { signal: over.signal }).catch(() => undefined);
  const allGone = closed.then(() => over.abort());
  const began = performance.now();
  if (options.lingerMs > 0) await Promise.race([allGone, pause(options.lingerMs)]);
  await untilQuiet(httpServer);
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

/**
 * Resolves right after a turn of the event loop in which nothing arrived. The system completes connections before the process
 * accepts them, one per turn. It resets those that are left when the listener closes, and connections that close with unread
 * requests.
 */
async function untilQuiet(httpServer: Server): Promise<void> {
  let accepted = 0;
  const count = () => {
    accepted += 1;
  };
  httpServer.on('connection', count);
  const began = performance.now();
  let isQuiet = false;
  // From one immediate to the next the event loop polls exactly once.
  await nextTurn();
  do {
    const before = accepted;
    const turnBegan = performance.now();
    await nextTurn();
    isQuiet = accepted === before && performance.now() - turnBegan <= QUIET_TURN_MS;
  } while (!isQuiet && performance.now() - began < QUIET_WITHIN_MS);
  httpServer.off('connection', count);
}
