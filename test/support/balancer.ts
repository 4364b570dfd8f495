import { createCondition } from './condition.ts';
import { startTcpProxy } from './tcp-proxy.ts';

/** A TCP load balancer on loopback that is controlled by the test. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Selects the target of new connections. Open connections keep theirs. */
  lead(address: string): void;
  /** Number of requests so far that contain the marker. */
  forwarded(marker: string): number;
  /** Resolves when `count` requests with the marker have passed. */
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
