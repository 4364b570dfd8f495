import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Passes connections on, on loopback. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Breaks every connection there is; new ones go through. */
  disconnectAll(): void;
}

export interface TcpProxyOptions {
  /** Where a connection that is made now goes. */
  readonly target: () => { readonly host: string; readonly port: number };
  /** Brings what comes from the near half of a new connection to the far one; the way back needs nobody. */
  readonly pass: (near: Socket, far: Socket) => void;
}

export async function startTcpProxy({ target, pass }: TcpProxyOptions): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const listener = createServer(near => {
    const far = connect(target());
    const both = [near, far];
    for (const socket of both) {
      sockets.add(socket);
      // Whoever is killed on one side takes its connections with it, and their other halves learn of it here.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        for (const half of both) half.destroy();
      });
    }
    pass(near, far);
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const disconnectAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (listener.address() as AddressInfo).port,
    disconnectAll,
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      disconnectAll();
      await closed;
    },
  };
}
