import { once } from 'node:events';
import { createServer } from 'node:http';
import { Agent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type BalancerMachine, type BalancerName, startDebianBalancer } from './debian-balancers.ts';
import { exchangeOver } from './mixed-load.ts';

const POLL_MS = 20;

export type RetryCase = readonly [
  title: string,
  request: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
  /** The number of replicas that receive it if the first one closes the connection without a response. */
  expected: Readonly<Record<BalancerName, number>>,
];

export interface Received {
  /** By title: the number of replicas that received the request. */
  readonly counts: Readonly<Record<string, number>>;
  /** Every X-Forwarded-For header that a replica received. */
  readonly sources: ReadonlySet<string | undefined>;
  /** The log of the load balancers. */
  readonly log: string;
}

/** Sends each request through a load balancer. The first replica that receives it fails. */
export async function sendToFailing(
  name: BalancerName,
  machine: BalancerMachine,
  cases: readonly RetryCase[],
): Promise<Received> {
  const counts: Record<string, number> = {};
  const sources = new Set<string | undefined>();
  let log = '';
  for (const [title, { method, path, headers = {} }] of cases) {
    await using stack = new AsyncDisposableStack();
    let received = 0;
    const start = async () => {
      const httpServer = createServer((request, response) => {
        if (request.url === '/readyz') return void response.end();
        received += 1;
        sources.add(request.headers['x-forwarded-for']?.toString());
        request.resume().on('end', () => (received === 1 ? request.socket.destroy() : response.end('served')));
      }).listen(0, '127.0.0.1');
      stack.defer(() => httpServer.closeAllConnections());
      stack.defer(() => void httpServer.close());
      await once(httpServer, 'listening');
      return `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`;
    };
    const replicas = [await start(), await start(), await start()];
    // nginx skips a failed replica, so each case starts a new load balancer.
    const balancer = stack.use(await startDebianBalancer(name, machine, replicas));
    const agent = new Agent({ ca: machine.certificate });
    const body = method === 'POST' ? {} : undefined;
    const { status } = await exchangeOver(agent, new URL(path, balancer.origin), { method, headers, body });
    if (received > 1 !== (status === 200)) throw new Error(`${title}: ${status} after ${received} replicas`);
    counts[title] = received;
    // The log contains the request only then.
    const logged = new URL(path, balancer.origin).pathname;
    while (!(await balancer.log()).includes(logged)) await delay(POLL_MS);
    log += await balancer.log();
  }
  return { counts, sources, log };
}
