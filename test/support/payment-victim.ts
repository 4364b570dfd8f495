import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Redis } from 'ioredis';

/** A TCP proxy on loopback in which requests get lost before they arrive. */
export interface SwallowingProxy extends AsyncDisposable {
  readonly port: number;
  /** Keeps the next request that contains the marker, and everything after it. Resolves once that has happened. */
  swallow(marker: string): Promise<void>;
  /** Breaks every connection there is; new ones go through. */
  disconnectAll(): void;
}

export async function startSwallowingProxy(targetPort: number): Promise<SwallowingProxy> {
  const sockets = new Set<Socket>();
  let order: { readonly marker: string; readonly done: () => void } | undefined;
  const listener = createServer(near => {
    const far = connect(targetPort, '127.0.0.1');
    const both = [near, far];
    let isSwallowing = false;
    for (const socket of both) {
      sockets.add(socket);
      // Whoever uses this proxy is killed in the middle of it; the other half ends with it.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        for (const half of both) half.destroy();
      });
    }
    near.on('data', data => {
      if (order !== undefined && data.includes(order.marker)) {
        isSwallowing = true;
        order.done();
        order = undefined;
      }
      if (!isSwallowing) far.write(data);
    });
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const disconnectAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (listener.address() as AddressInfo).port,
    swallow(marker) {
      const { promise, resolve } = Promise.withResolvers<void>();
      order = { marker, done: resolve };
      return promise;
    },
    disconnectAll,
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      disconnectAll();
      await closed;
    },
  };
}

/** Resolves when what `id` names has changed `count` times: the moment after the last of them was stored. @returns once it is listening */
export async function listenForChanges(
  redisUrl: string,
  id: string,
  count: number,
): Promise<{ changed: Promise<void> }> {
  const redis = new Redis(redisUrl);
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  redis.on('message', (_channel: string, message: string) => {
    if (message !== id) return;
    left -= 1;
    if (left > 0) return;
    redis.disconnect();
    resolve();
  });
  await redis.subscribe('postern:wake');
  return { changed: promise };
}
