import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What becomes of an answer: its connection breaks, or stays open and never carries anything back again. */
export type Loss = 'disconnect' | 'stall';

/** A TCP proxy on loopback that loses answers on request. The far side has done what it was asked to do by then. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Loses the answer to the next request that contains the marker. Resolves once that has happened. */
  loseAnswerTo(marker: string, loss: Loss): Promise<void>;
  /** Breaks every connection there is. New ones are let through. */
  disconnectAll(): void;
}

interface Order {
  readonly marker: string;
  readonly loss: Loss;
  readonly done: () => void;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let order: Order | undefined;

  const listener = createServer(near => {
    const far = connect(targetPort, '127.0.0.1');
    const both = [near, far];
    let losing: Order | undefined;
    let isStalled = false;
    for (const socket of both) {
      sockets.add(socket);
      // A broken connection is what this proxy is for; its other half ends with it.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        for (const half of both) half.destroy();
      });
    }
    near.on('data', data => {
      if (order && data.includes(order.marker)) {
        losing = order;
        order = undefined;
      }
      far.write(data);
    });
    far.on('data', data => {
      if (isStalled) return;
      if (!losing) {
        near.write(data);
        return;
      }
      const { loss, done } = losing;
      losing = undefined;
      if (loss === 'disconnect') near.destroy();
      else isStalled = true;
      done();
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');

  const disconnectAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (listener.address() as AddressInfo).port,
    loseAnswerTo(marker, loss) {
      const { promise, resolve } = Promise.withResolvers<void>();
      order = { marker, loss, done: resolve };
      return promise;
    },
    disconnectAll,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      disconnectAll();
      await once(listener, 'close');
    },
  };
}
