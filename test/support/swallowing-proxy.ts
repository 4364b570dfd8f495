import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A TCP proxy on loopback that can swallow requests. */
export interface SwallowingProxy extends TcpProxy {
  /** Swallows the next request that contains the marker, and everything after it. Resolves when that has happened. */
  swallow(marker: string): Promise<void>;
}

export async function startSwallowingProxy(targetPort: number): Promise<SwallowingProxy> {
  let order: { readonly marker: string; readonly done: () => void } | undefined;
  const proxy = await startTcpProxy({
    target: () => ({ host: '127.0.0.1', port: targetPort }),
    pass(near, far) {
      let isSwallowing = false;
      near.on('data', data => {
        if (order !== undefined && data.includes(order.marker)) {
          isSwallowing = true;
          order.done();
          order = undefined;
        }
        if (!isSwallowing) far.write(data);
      });
    },
  });
  return {
    ...proxy,
    swallow(marker) {
      const { promise, resolve } = Promise.withResolvers<void>();
      order = { marker, done: resolve };
      return promise;
    },
  };
}
