import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Forwards TCP connections on loopback. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Breaks all open connections. New ones are forwarded. */
  disconnectAll(): void;
}

export interface TcpProxyOptions {
  /** Returns the target of a new connection. */
  readonly target: () => { readonly host: string; readonly port: number };
  /** Forwards data from the client half of a new connection to the server half. The proxy pipes the other direction itself. */
  readonly pass: (near: Socket, far: Socket) => void;
}

export async function startTcpProxy({ target, pass }: TcpProxyOptions): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const listener = createServer(near => {
    const far = connect(target());
    const both = [near, far];
    for (const socket of both) {
      sockets.add(socket);
      // A process that is killed on one side drops its connections; this closes their other halves.
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
