import { createCondition } from './condition.ts';
import { startTcpProxy } from './tcp-proxy.ts';

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
  const chunks: string[] = [];
  const forwarded = (marker: string) => chunks.filter(chunk => chunk.includes(marker)).length;
  const arrived = createCondition();
  const proxy = await startTcpProxy({
    target: () => ({ host: target.hostname, port: Number(target.port) }),
    pass(near, far) {
      near.on('data', data => {
        chunks.push(data.toString('latin1'));
        arrived.notify();
      });
      near.pipe(far);
    },
  });
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    lead(next) {
      target = new URL(next);
    },
    forwarded,
    untilForwarded: (marker, count) => arrived.until(() => forwarded(marker) >= count),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}
