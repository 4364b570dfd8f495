import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP load balancer on loopback whose decision is the test's. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Where connections from now on go; those that are open stay where they are. */
  lead(address: string): void;
  /** How often requests that contain the marker have gone through. */
  forwarded(marker: string): number;
  /** When requests that contain the marker have gone through `count` times. */
  untilForwarded(marker: string, count: number): Promise<void>;
}

export async function startBalancer(address: string): Promise<Balancer> {
  let target = new URL(address);
  const sockets = new Set<Socket>();
  const chunks: string[] = [];
  const forwarded = (marker: string) => chunks.filter(chunk => chunk.includes(marker)).length;
  const listeners = new Set<() => void>();
  const listener = createServer(near => {
    const far = connect(Number(target.port), target.hostname);
    const both = [near, far];
    for (const socket of both) {
      sockets.add(socket);
      // A replica that dies takes its connections with it, and their other halves learn of it here.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        for (const half of both) half.destroy();
      });
    }
    near.on('data', data => {
      chunks.push(data.toString('latin1'));
      for (const check of listeners) check();
    });
    near.pipe(far);
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    lead(next) {
      target = new URL(next);
    },
    forwarded,
    async untilForwarded(marker, count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => void (forwarded(marker) >= count && resolve());
      listeners.add(check);
      check();
      await promise;
      listeners.delete(check);
    },
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
