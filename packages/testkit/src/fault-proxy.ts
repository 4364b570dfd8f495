import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createLane, type Lane } from './fault-lane.ts';
import { createRequestWatch, type Loss, type Moment, type RequestWatch, type WatchOrder } from './request-watch.ts';
import { chanceBy, type Toxic } from './toxics.ts';

export type { Loss, Moment, PassingRequest, WatchOrder } from './request-watch.ts';
export type { Toxic } from './toxics.ts';

/** A TCP proxy on loopback that injects faults. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Number of open connections through the proxy. */
  readonly connections: number;
  /** Drops the response to the next request that contains the marker. Resolves once it is dropped. */
  loseAnswerTo(marker: string, loss: Loss): Promise<void>;
  /** Breaks all open connections. New connections work. */
  disconnectAll(): void;
  /** Adds a toxic to open and new connections until disposed. */
  add(toxic: Toxic): Disposable;
  /** Breaks every connection and refuses new ones until `up`. */
  down(): void;
  up(): void;
  /** Calls back at one moment of a matching request. Resolves after the callback. */
  watch(order: WatchOrder): Promise<void>;
  /** Number of answered requests that match, counted since the first call with this function. */
  answered(matches: WatchOrder['matches']): () => number;
}

export interface FaultProxyOptions {
  /** Host of the target. Default 127.0.0.1. */
  readonly targetHost?: string;
  /** Address on which it listens. Default 127.0.0.1. */
  readonly host?: string;
  /**
   * `resp`: each Redis command is a request with its own response, even in a pipeline. `chunks` (default): each received chunk is
   * a request, and the next data back is its response.
   */
  readonly protocol?: 'chunks' | 'resp';
  /** Seed of all random choices: toxicity, jitter and sizes. */
  readonly seed?: number;
}

interface Connection {
  readonly lanes: { readonly upstream: Lane; readonly downstream: Lane };
  readonly end: (how: 'destroy' | 'reset') => void;
}

/** @param targetPort port to which the proxy forwards */
export async function startFaultProxy(targetPort: number, options: FaultProxyOptions = {}): Promise<FaultProxy> {
  const { targetHost = '127.0.0.1', host = '127.0.0.1', protocol = 'chunks', seed = 1 } = options;
  const connections = new Set<Connection>();
  const toxics = new Set<Toxic>();
  const orders: WatchOrder[] = [];
  const counters: { readonly matches: WatchOrder['matches']; count: number }[] = [];
  let isDown = false;
  let opened = 0;

  function take(near: Socket): void {
    if (isDown) {
      near.resetAndDestroy();
      return;
    }
    opened += 1;
    const chance = chanceBy(seed * 65_537 + opened);
    const far = connect(targetPort, targetHost);
    for (const socket of [near, far]) socket.setNoDelay(true);
    const closing = new AbortController();
    const end = (how: 'destroy' | 'reset') => {
      closing.abort();
      connections.delete(connection);
      for (const socket of [near, far]) {
        if (how === 'reset') socket.resetAndDestroy();
        else socket.destroy();
      }
    };
    const lane = (direction: Toxic['direction'], from: Socket, to: Socket) =>
      createLane({
        from,
        to,
        chance,
        end,
        closing: closing.signal,
        toxics: () => [...toxics].filter(toxic => toxic.direction === direction),
      });
    const lanes = { upstream: lane('upstream', near, far), downstream: lane('downstream', far, near) };
    const connection: Connection = { lanes, end };
    connections.add(connection);
    const watch: RequestWatch = createRequestWatch(protocol, { orders, onAnswered, cut: () => end('destroy') });
    near.on('data', (data: Buffer) => watch.sent(data, part => lanes.upstream.push(part)));
    far.on('data', (data: Buffer) => watch.answered(data, part => lanes.downstream.push(part)));
    near.on('end', () => void lanes.upstream.finish());
    far.on('end', () => void lanes.downstream.finish());
    for (const socket of [near, far]) {
      // Broken connections are expected here. The other half ends too.
      socket.on('error', () => end('destroy'));
      socket.on('close', () => {
        if (near.destroyed && far.destroyed) end('destroy');
      });
    }
    for (const each of [lanes.upstream, lanes.downstream]) each.changed();
  }

  const onAnswered: Parameters<typeof createRequestWatch>[1]['onAnswered'] = request => {
    for (const counter of counters) if (counter.matches(request)) counter.count += 1;
  };

  // Each half ends separately, after its data has arrived.
  const listener = createServer({ allowHalfOpen: true }, take).listen(0, host);
  await once(listener, 'listening');

  const disconnectAll = () => {
    for (const { end } of connections) end('destroy');
  };
  const watch = (order: WatchOrder): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = order.nth ?? 1;
    const own: WatchOrder = {
      ...order,
      act(request) {
        left -= 1;
        if (left > 0) return undefined;
        orders.splice(orders.indexOf(own), 1);
        const fate = order.act(request);
        resolve();
        return fate;
      },
    };
    orders.push(own);
    return promise;
  };

  return {
    port: (listener.address() as AddressInfo).port,
    get connections() {
      return connections.size;
    },
    loseAnswerTo: (marker, loss) =>
      watch({
        moment: 'answer_arrives' satisfies Moment,
        matches: ({ data }) => data.includes(marker),
        act: () => (loss === 'disconnect' ? 'cut' : 'stall'),
      }),
    disconnectAll,
    add(toxic) {
      toxics.add(toxic);
      for (const { lanes } of connections) lanes[toxic.direction].changed();
      return { [Symbol.dispose]: () => void toxics.delete(toxic) };
    },
    down() {
      isDown = true;
      for (const { end } of connections) end('reset');
    },
    up() {
      isDown = false;
    },
    watch,
    answered(matches) {
      const counter = { matches, count: 0 };
      counters.push(counter);
      return () => counter.count;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(listener, 'close');
      listener.close();
      disconnectAll();
      await closed;
    },
  };
}
